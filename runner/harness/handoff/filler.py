"""Events of no consequence: what else is said and noted where people work, beside the matter that a scenario is about.

An entry is a number and always the same event, whatever the scenario and the seed, so that scenarios share texts and
an embedding model reads each once. The first 160 or so use every sentence once; later ones fill it anew.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from runner.harness._base.draw import Draw
from runner.harness.handoff.scenario_file import EventSpec

POOL_VERSION: Final = 1  # raise when an entry changes

_NO_TIME: Final = datetime(2026, 1, 1)
_PEOPLE: Final = ("Bea", "Tomasz", "Ingrid", "Yusuf", "Lena", "Marcus", "Oluwaseun", "Harriet", "Dmitri", "Saskia")
_AGENTS: Final = ("desk-bot", "intranet-agent", "build-agent")
_SLOTS: Final = {
    "P": ("Bea", "Tomasz", "Ingrid", "Yusuf", "Lena", "Marcus", "Harriet", "Dmitri"),
    "D": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"),
    "N": ("three", "five", "six", "nine", "eleven", "fifteen"),
    "R": ("the glass room", "the corner room", "the attic", "the small studio", "the canteen", "the library"),
    "F": ("soup", "flatbread", "noodles", "the lentil thing", "dumplings", "leftover cake"),
    "C": ("the blue mugs", "a monitor arm", "two whiteboards", "a box of adapters", "the label tape", "desk lamps"),
    "S": ("the badge reader", "the label printer", "the projector", "the coffee machine", "the bike shed lock"),
    "W": ("the intranet start page", "the careers page", "the phone list", "the floor plan", "the holiday calendar"),
}

# kind, project, text. Messages come from people, the rest from people or from agents of their own.
_SAID: Final[tuple[tuple[str, str, str], ...]] = (
    ("message", "", "Anyone for lunch? I hear it is {F} today."),
    ("message", "", "{P} left a scarf in {R}, it is at the front desk now."),
    ("message", "", "I will be in late on {D}, dentist."),
    ("message", "", "Could somebody let the courier in, he is downstairs with {C}."),
    ("message", "", "Happy birthday {P}! There is cake in {R}."),
    ("message", "", "Is {R} free this afternoon? We are {N} people and need a screen."),
    ("message", "", "My train is stuck again, start the stand-up without me."),
    ("message", "", "Thanks for covering yesterday, {P}, I owe you one."),
    ("message", "", "Does anybody still have the charger that was in {R}?"),
    ("message", "", "I am working from home on {D} and {P} has the keys."),
    ("message", "", "The window in {R} does not close properly, please mind the rain."),
    ("message", "", "We are out of oat milk, and somebody took the last filter as well."),
    ("message", "", "Who wants to join the climbing evening on {D}? {N} places left."),
    ("message", "", "Good talk today, the part about interviews was the best of it."),
    ("message", "", "I moved our one-to-one to {D}, I hope that suits you, {P}."),
    ("message", "", "Reminder: fire drill on {D}, take your jacket with you."),
    ("message", "", "The parking spot beside the ramp is blocked by the removal van until noon."),
    ("message", "", "{P}, your parcel has been lying here for {N} days."),
    ("message", "", "Can we keep the door of {R} shut during calls? The whole corridor listens in."),
    ("message", "", "Nice to see {P} back from leave. The plants survived, mostly."),
    ("message", "", "I need a second opinion on a slide, five minutes, no preparation."),
    ("message", "", "The new chairs are better than I feared, though {N} of them squeak."),
    ("message", "", "Does the canteen take cards again, or is it still coins only?"),
    ("message", "", "I shall be on the phone for most of {D}, write if it burns."),
    ("message", "", "Lost: one grey bicycle glove, sentimental value."),
    ("message", "", "{P} asks whether the plants in {R} may be moved to the south side."),
    ("message", "", "It was so quiet this morning that I heard the lift."),
    ("message", "", "Somebody please tell me how to mute the doorbell on the second floor."),
    ("message", "", "I have {N} tickets for the match on {D} and nobody to go with."),
    ("message", "", "The heating comes on at six and it is far too warm by nine."),
    ("note", "office", "Ordered {C}, should be here by {D}."),
    ("note", "office", "Called the electrician about {S}; he comes on {D} between ten and twelve."),
    ("note", "office", "Counted chairs in {R}: {N} good ones, two with a wobble."),
    ("note", "office", "Tried another cable on {S}, no change, put the old one back."),
    ("note", "office", "Asked {P} for the invoice of the plant service, no answer so far."),
    ("note", "office", "The key for the archive cupboard hangs behind the reception desk again."),
    ("note", "office", "{S} works when it is switched off for a minute first. Label on it says so now."),
    ("note", "office", "Cleaning moves to the early shift from {D} on."),
    ("note", "office", "Compared two suppliers for fruit baskets; the cheaper one delivers on {D} only."),
    ("note", "office", "Put {N} folding tables into the cellar, left of the boiler."),
    ("note", "office", "Window cleaner was here, forgot {R}, returns on {D}."),
    ("note", "office", "{P} keeps the petty cash until the new box arrives."),
    ("note", "it-desk", "Laptop of {P} restarted {N} times today; replaced the dock, watching it."),
    ("note", "it-desk", "Reset the guest network on the second floor, printers had to be joined by hand."),
    ("note", "it-desk", "Old firmware on {S} is back, the new one drops the connection every hour."),
    ("note", "it-desk", "Handed {C} to {P}, signed for."),
    ("note", "it-desk", "Spare mice are down to {N}, order more next month."),
    ("note", "it-desk", "{P} cannot open the shared calendar on the phone; removed and added the account, fine since."),
    ("note", "it-desk", "Two screens in {R} show a green tint, swapped the cables, one is cured."),
    ("note", "it-desk", "Headset of {P} went back under warranty, the loan unit is number {N}."),
    ("note", "it-desk", "Telephone in the lift was tested with the service company, sound is fine."),
    ("note", "it-desk", "Updated the room tablets except the one at {R}, whose battery was flat."),
    ("note", "website-refresh", "Moved {W} below the fold, {P} wants to see it on a phone first."),
    ("note", "website-refresh", "Portraits were taken in {R}, {N} people are still missing."),
    ("note", "website-refresh", "The green of the buttons is too close to that of the banner; trying a darker one."),
    ("note", "website-refresh", "Proofread {W} with {P}; mostly commas."),
    ("note", "website-refresh", "Photo of the entrance is from before the repainting, needs a new one."),
    ("note", "website-refresh", "Search box moved into the menu after {N} people failed to see it."),
    ("note", "website-refresh", "{P} prefers the serif headlines, everybody else does not mind."),
    ("note", "website-refresh", "Dead links on {W}: {N}, all of them to old newsletters."),
    ("note", "team-offsite", "The hut takes groups of {N} and has no wifi, which {P} calls a feature."),
    ("note", "team-offsite", "Asked for vegetarian options on both evenings."),
    ("note", "team-offsite", "Bus or train is open; {P} collects opinions until {D}."),
    ("note", "team-offsite", "The workshop on writing is led by {P}, who needs a flip chart and {C}."),
    ("note", "team-offsite", "Rain plan for the walk: the pottery museum, open until five."),
    ("note", "team-offsite", "Room lists are done but for {N} people who have not answered."),
    ("note", "onboarding", "{P} shows the new colleague around on {D}, starting at {R}."),
    ("note", "onboarding", "The welcome folder lists a canteen that closed last summer; took it out."),
    ("note", "onboarding", "Swapped the order of the introduction talks, {P} is away in the first week."),
    ("note", "onboarding", "First-week lunch is {F}, table for {N}."),
    ("note", "onboarding", "Buddy list for spring is complete, {P} has two."),
    ("fact", "", "{P} is allergic to walnuts."),
    ("fact", "", "{P} takes the stairs and never the lift."),
    ("fact", "", "The bakery at the corner closes at two on {D}."),
    ("fact", "", "{P} plays the cello in an amateur orchestra on {D} evenings."),
    ("fact", "", "{P} has moved to the other side of the river and cycles in."),
    ("fact", "office", "The alarm of the building is armed at ten in the evening."),
    ("fact", "office", "{R} holds {N} people, more when the partition is open."),
    ("fact", "office", "Visitors park behind the building, never in front of the gate."),
    ("fact", "office", "The post leaves at four; on {D} at three."),
    ("fact", "it-desk", "Loan laptops lie in the drawer under {S}."),
    ("fact", "website-refresh", "{P} approves texts for {W}."),
    ("fact", "team-offsite", "{P} does not eat mushrooms."),
    ("fact", "onboarding", "New colleagues start on a {D} and get their badge the day before."),
    ("doc", "office", "Plants are watered on {D}. The big fern in {R} takes twice as much and none in winter."),
    ("doc", "office", "Before {S} is reported, check the plug, then the fuse in the hall, then ask {P}."),
    ("doc", "office", "Lost property is kept for {N} weeks at the front desk and then given to the charity shop."),
    ("doc", "it-desk", "A loan device is signed out at the desk, returned within {N} days, and wiped by {P}."),
    ("doc", "it-desk", "To present in {R}: wake the screen, choose the left input, wait until the picture settles."),
    ("doc", "website-refresh", "Tone of {W}: friendly, short sentences, no exclamation marks, first names only."),
    ("doc", "website-refresh", "Pictures are landscape, taken in daylight, with at most {N} people in them."),
    ("doc", "team-offsite", "Bring sturdy shoes, a towel and something warm. Breakfast is at eight, {F} on arrival."),
    ("doc", "onboarding", "Day one: badge, laptop, tour, lunch with the buddy. Day two: {P} explains the phone list."),
    ("doc", "onboarding", "Who to ask: keys {P}, travel the assistant, pictures the web people, all else {R}."),
    ("commit", "website-refresh", "Tidy the styles of {W}"),
    ("commit", "website-refresh", "Bring back the old footer until {P} has seen the new one"),
    ("commit", "website-refresh", "Smaller portraits, lazy loading on {W}"),
    ("commit", "website-refresh", "Fix the typos that {P} found"),
    ("commit", "website-refresh", "Rename the menu entry of {W}"),
    ("commit", "it-desk", "Inventory script: skip devices that were returned"),
    ("commit", "it-desk", "Room tablets: show the next meeting in larger letters"),
    ("commit", "it-desk", "Drop the wallpaper that made {S} slow to wake"),
    # Work of other teams, in the words in which all such work is told.
    ("note", "docs-site", "Build of the docs takes {N} minutes; caching the fonts halves it."),
    ("note", "docs-site", "Link checker failed on {D}, the target site was down; retried, green."),
    ("note", "docs-site", "Split the long tutorial into {N} pages after {P} got lost in it."),
    ("note", "docs-site", "Screenshots of the old menu are still in the quick start, listed them for {P}."),
    ("note", "docs-site", "Tried the other syntax highlighter, no difference that anybody could see, reverted."),
    ("note", "ci-chores", "Raised the timeout of the lint job, the shared runner is slow on {D} mornings."),
    ("note", "ci-chores", "{N} old branches deleted after asking their owners."),
    ("note", "ci-chores", "The cache of the container images was full again, pruned it."),
    ("note", "ci-chores", "Flaky screenshot comparison: the clock in the corner was in the picture. Masked it."),
    ("note", "ci-chores", "Bot comments on pull requests are down to one a day, {P} asked for that."),
    ("note", "usage-board", "Chart of sign-ins had the axis cut off at the top, mended."),
    ("note", "usage-board", "Numbers for {D} look low because the export started late, not because of users."),
    ("note", "usage-board", "{P} wants the board as a picture in the weekly mail."),
    ("note", "usage-board", "Swapped the pie chart for bars; {N} people noticed."),
    ("note", "survey", "{N} answers so far, most of them about the canteen."),
    ("note", "survey", "Question four reads as two questions, {P} proposes to split it."),
    ("note", "survey", "Free-text answers are coded by two people separately, compared on {D}."),
    ("note", "lab-admin", "Gloves in size M are out, {P} borrowed {N} boxes from next door."),
    ("note", "lab-admin", "The second fridge hums; the technician looks at it on {D}."),
    ("note", "lab-admin", "Safety briefing is due for {N} people before they get a key."),
    ("message", "docs-site", "Whoever wrote the glossary: thank you, I understood the invoice for the first time."),
    ("message", "docs-site", "{P}, may I merge the spelling fixes, or do you want to read them?"),
    ("message", "ci-chores", "Main is red because of me, ten minutes."),
    ("message", "ci-chores", "Could we agree on one name for the staging machines? I count {N}."),
    ("message", "usage-board", "Is it normal that the board shows nothing before nine?"),
    ("message", "survey", "Please answer the survey until {D}, it takes four minutes."),
    ("message", "lab-admin", "The scales in the back were calibrated, the sticker says so."),
    ("message", "", "I read the paper that {P} sent round, the appendix is the best part."),
    ("message", "", "Does somebody remember who set up the shared mailbox?"),
    ("message", "", "Release went out without a hitch, {P} brings pastries on {D}."),
    ("message", "", "Customer visit on {D}: two guests, please keep {R} tidy."),
    ("message", "", "I will review the two small changes tonight, not the large one."),
    ("message", "", "We decided nothing today, and it took {N} people an hour."),
    ("message", "", "The slides for {D} are in the usual folder, comments welcome until noon."),
    ("message", "", "Short question about the budget form: who signs line seven?"),
    ("fact", "docs-site", "{P} owns the style guide."),
    ("fact", "ci-chores", "The build machines are restarted on {D} night."),
    ("fact", "usage-board", "The board refreshes every {N} minutes."),
    ("fact", "survey", "Raw answers are deleted {N} weeks after the report."),
    ("fact", "lab-admin", "Deliveries for the lab are accepted at the side door until four."),
    ("doc", "docs-site", "A page starts with what it is for, then the shortest example that works, then the details."),
    ("doc", "ci-chores", "A red build is announced, looked at within {N} minutes, and reverted when nobody knows why."),
    ("doc", "usage-board", "An active user signed in at least once in the week. Test accounts and bots are left out."),
    ("doc", "survey", "The report shows medians and the number of answers, never single answers."),
    ("doc", "lab-admin", "Whoever opens the last box orders the next one. The order form lies in {R}."),
    ("commit", "docs-site", "Explain the second parameter in the quick start"),
    ("commit", "docs-site", "Remove a screenshot that showed real names"),
    ("commit", "ci-chores", "Pin the linter, its new release finds {N} things that are none"),
    ("commit", "ci-chores", "Run the slow checks at night only"),
    ("commit", "usage-board", "Label the axes, round to whole users"),
    ("commit", "survey", "Export: one row an answer, semicolons escaped"),
)  # fmt: skip

# project, task, decided, ruled out, open, next
_STOPS: Final[tuple[tuple[str, str, str, str, str, str], ...]] = (
    (
        "it-desk",
        "Get {S} to stay connected",
        "leave it on the guest network for now",
        "a longer cable; restarting it every night",
        "does {P} still have the receipt",
        "ask the service company on {D}",
    ),
    (
        "website-refresh",
        "Make {W} readable on phones",
        "one column, pictures first",
        "shrinking the table, which nobody could read",
        "may the banner go",
        "show {P} the draft",
    ),
    (
        "team-offsite",
        "Find a place for {N} people",
        "two nights, arrival on {D}",
        "the lake house, booked out; the monastery, no kitchen",
        "who brings the projector",
        "send the room list to {P}",
    ),
    (
        "office",
        "Rearrange {R}",
        "desks along the window",
        "a round table, too wide for the door",
        "is there a place for {C}",
        "measure the corridor with {P}",
    ),
    (
        "onboarding",
        "Shorten the first day",
        "tour after lunch",
        "a video, nobody watched it to the end",
        "is the badge ready a day before",
        "try it with the next group on {D}",
    ),
    (
        "docs-site",
        "Speed up the preview of the docs",
        "build changed pages only",
        "a bigger machine, the time goes into the fonts; leaving out pictures, {P} needs them",
        "do the translations need a preview",
        "measure it again on {D}",
    ),
    (
        "ci-chores",
        "Find out why the nightly checks end early",
        "keep the logs for {N} nights",
        "more memory, made no difference; another runner image, same end",
        "who changed the schedule",
        "compare the start times with {P}",
    ),
    (
        "usage-board",
        "Explain the dip at the end of the month",
        "show weeks, not days",
        "smoothing, it hides real outages",
        "are the imports counted twice on {D}",
        "ask {P} for the raw export",
    ),
)


def idle(entry: int) -> EventSpec:
    """An entry of the pool. Its time is a placeholder."""
    size = len(_SAID) + len(_STOPS)
    draw = Draw("handoff pool", POOL_VERSION, entry)
    words = {slot: draw.pick(items) for slot, items in _SLOTS.items()}
    # Walking the sentences in a stride mixes the kinds in every stretch of the pool.
    at = entry * 47 % size
    human = draw.pick([name for name in _PEOPLE if name != words["P"]])  # nobody speaks of himself by name
    agent = draw.pick(_AGENTS)
    if at >= len(_SAID):
        project, *told = _STOPS[at - len(_SAID)]
        task, decided, failed, open_, following = (item.format(**words) for item in told)
        return EventSpec(
            time=_NO_TIME,
            actor=agent,
            kind="checkpoint",
            project=project,
            task=task,
            decisions=[decided],
            failed=failed.split("; "),
            questions=[f"{open_}?"],
            next=following,
        )
    kind, project, text = _SAID[at]
    said = text.format(**words)
    by = agent if kind in ("note", "commit") and draw.chance(0.3) else human
    return EventSpec.model_validate(
        {
            "time": _NO_TIME,
            "actor": by,
            "kind": kind,
            "project": project,
            "title": f"{project.replace('-', ' ')} notes" if kind == "doc" else "",
            "text": said[0].upper() + said[1:],
        }
    )
