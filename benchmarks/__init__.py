"""How fast fcgboost is, beside its rivals in the same run: `make bench`, docs/benchmarks.md."""
