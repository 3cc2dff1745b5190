"""Rows on a torch device: transfers, trees, and kernels for GPUs. Only this folder knows torch."""
