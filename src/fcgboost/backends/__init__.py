"""Where rows live other than this process's NumPy memory: devices and clusters."""
