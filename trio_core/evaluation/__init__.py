"""Methods over data sets: a resumable batch whose results are stored runs, and the figures made from its rows."""
