"""The packages that are installed for a Python, read as text: which modules there are, and what each of them has.

Nothing is imported. What cannot be read off for certain is not known, which is another answer than "it is not there".
"""
