"""From stored rows to tables, figures and verdicts, and these to Markdown and a web page.

Nothing here fits anything: all of it can be drawn again from the rows.
"""
