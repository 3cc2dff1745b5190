"""Selection of atoms: from a fixed dictionary, from samples, or learned."""
