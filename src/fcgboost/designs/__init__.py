"""Where the columns live: a dictionary laid over data, in one memory or in many."""
