"""The paper's laboratory: its experiments run again, and what goes beyond them.

`python -m paper` is its command. `registry.EXPERIMENTS` maps names to experiments, `runner.run`
runs one and stores its rows, `report.write_report` draws tables and figures from stored rows,
`rivals.RIVALS` has the methods of others and `data.fetch_uci` the public sets.
"""
