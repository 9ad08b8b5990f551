"""Who one is, behind the name in the header: a name to type where nobody logs in, else name, role and log-out."""

from __future__ import annotations

PERSON = """
<dialog class="person" aria-label="You"><form method="dialog"><button aria-label="Close">Close</button></form>
 <h2>You</h2><p class="known"></p>
 <form class="rename"><label>Your labels are stored under this name <input name="name" maxlength="40" autocomplete="nickname"></label>
  <button class="btn">Use this name</button><p class="fault" role="alert" hidden></p>
  <p class="hid">Kept in this browser. There are no accounts here: everybody who reaches this page may do everything.</p></form>
 <p class="out"><a class="btn" href="./logout?all_session=false">Log out</a></p>
</dialog>
"""
"""Static: assets/trioscope.js fills in name and role, and shows what fits the way people are known here."""
