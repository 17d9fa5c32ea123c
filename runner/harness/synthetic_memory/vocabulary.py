"""Words and sentences that ``synthetic_memory`` draws from. Data only; its text is part of the dataset's digest.

Placeholders: ``{S}`` who a statement is about, as its subject ("I" when the speaker tells of themself), ``{O}`` the
same as an object, ``{Z}`` as a possessive; ``{V}`` the value that a question asks for; ``{P}`` the person that a
question names.

Within a topic no content word of ``paraphrases`` occurs in ``statements`` or ``updates``, and ``questions`` share
theirs with ``statements`` and not with ``updates``. No value occurs in two topics, nor inside another value.
"""

from __future__ import annotations

from dataclasses import dataclass

NAMES = (
    "Amara", "Bastian", "Celeste", "Dmitri", "Esperanza", "Farouk", "Greta", "Hiroshi", "Ingrid", "Jamal", "Katya",
    "Leopold", "Mireille", "Nikhil", "Odette", "Pavel", "Quentin", "Rosalind", "Sanjay", "Tabitha", "Ulrich", "Valeria",
    "Winston", "Xiomara", "Yusuf", "Zelda", "Anselm", "Beatrix", "Cosmo", "Delphine", "Emeka", "Fiona", "Gustav",
    "Henrietta", "Ismael", "Jocasta", "Kwame", "Lucinda", "Matteo", "Nadia", "Orlando", "Philippa", "Rufus", "Saskia",
    "Tomasz", "Ursula", "Viktor", "Wilhelmina", "Yolanda", "Zachary",
)  # fmt: skip


@dataclass(frozen=True)
class Topic:
    """One kind of fact about a person."""

    name: str
    values: tuple[str, ...]
    statements: tuple[str, ...]
    updates: tuple[str, ...]  # how a later value is told: in passing, without the words of the question
    questions: tuple[str, ...]  # direct, in the words of the statements
    latest: str  # asks for the current value, in the words of the statements
    paraphrases: tuple[str, ...]  # the same question in other words
    lure: str  # "to …": the question's words without an answer, for distractors


TOPICS = (
    Topic(
        "home",
        ("Leeds", "Porto", "Tallinn", "Cusco", "Bergen", "Hobart", "Ghent", "Kyoto", "Tbilisi", "Winnipeg", "Cork",
         "Aarhus", "Fez", "Graz"),
        ("{S} moved house to {V}, boxes and all.", "Last weekend {S} finally moved to {V}.",
         "{S} moved away and the new house is in {V}.", "It is official: {S} moved to {V} for good."),
        ("Letters for {O} should be forwarded to {V} from now on.", "{V} suits {O} far better than the previous flat.",
         "The new doorbell in {V} already has a label for {O}."),
        ("Where did {P} move house to?", "Which place did {P} move to?"),
        "Where has {P} moved house to most recently?",
        ("In which city does {P} live?", "Which town is {P} a resident of?"),
        "to move house to some other place",
    ),
    Topic(
        "job",
        ("locksmith", "beekeeper", "court reporter", "tram driver", "piano tuner", "midwife", "cartographer",
         "night porter", "florist", "welder", "radio producer", "dental nurse", "surveyor", "falconer"),
        ("{S} started a new job as a {V}.", "The job came through and {S} started as a {V}.",
         "On Monday {S} started the {V} job that everybody wanted.", "{S} took a job as a {V} and started at once."),
        ("The sign on the door for {O} says {V} these days.", "Being a {V} turned out to be a better fit for {O}.",
         "They printed fresh cards for {O} that read {V}."),
        ("What job did {P} start?", "As what did {P} start the new job?"),
        "What job has {P} started most recently?",
        ("How does {P} earn money?", "What is the profession of {P}?"),
        "to start a new job",
    ),
    Topic(
        "pet",
        ("tortoise", "greyhound", "cockatiel", "ferret", "axolotl", "hedgehog", "dachshund", "chinchilla", "gecko",
         "Siamese kitten", "corn snake", "alpaca", "spaniel", "lop-eared rabbit"),
        ("{S} adopted a {V} from the shelter.", "After months of waiting {S} adopted a {V}.",
         "{S} adopted a {V} and has hardly slept since.", "The shelter called and {S} adopted their last {V}."),
        ("There is a {V} asleep on the sofa next to {O} as we speak.", "The vet bill for the {V} gave {O} a shock.",
         "A {V} now follows {O} from room to room."),
        ("What did {P} adopt from the shelter?", "What did {P} adopt?"),
        "What has {P} adopted from the shelter most recently?",
        ("Which animal keeps {P} company?", "What kind of creature is the companion of {P}?"),
        "to adopt something from the shelter",
    ),
    Topic(
        "instrument",
        ("cello", "banjo", "oboe", "theremin", "harpsichord", "bagpipes", "marimba", "ukulele", "trombone", "lute",
         "accordion", "didgeridoo", "clarinet", "sitar"),
        ("{S} began lessons on the {V}.", "Every Tuesday there are {V} lessons for {O}.",
         "{S} signed up for {V} lessons at the conservatory.", "The first {V} lessons went well for {O}."),
        ("The neighbours can hear {O} scrape away at the {V} now.", "The {V} in the hall belongs to {O}.",
         "A second-hand {V} was the best thing that {S} found all year."),
        ("What are the lessons of {P} for?", "Which lessons did {P} begin?"),
        "Which lessons has {P} begun most recently?",
        ("What musical hobby does {P} have?", "What does {P} play in the orchestra?"),
        "to begin some lessons",
    ),
    Topic(
        "allergy",
        ("cashews", "shellfish", "celery", "sesame", "strawberries", "mustard", "lupin", "kiwi fruit", "egg white",
         "buckwheat", "mango skin", "pine nuts", "oysters", "barley"),
        ("The doctor told {O} about an allergy to {V}.", "{S} carried the allergy card: no {V}.",
         "It turned out that {S} had an allergy to {V}.", "An allergy test came back and for {O} it was {V}."),
        ("Nobody may serve {O} any {V} at this point.", "The clinic wrote {V} on the warning bracelet for {O}.",
         "One bite of {V} and {S} needed an ambulance."),
        ("What allergy does {P} have?", "What did the allergy test find for {P}?"),
        "What allergy was found for {P} most recently?",
        ("Which food makes {P} ill?", "What must be left out when cooking a meal with {P} at the table?"),
        "to get tested for an allergy",
    ),
    Topic(
        "book",
        ("Middlemarch", "The Leopard", "Kokoro", "Beloved", "Dead Souls", "The Waves", "Ficciones", "Austerlitz",
         "Gilead", "Pale Fire", "Sula", "Germinal", "Hunger", "The Trial"),
        ("{S} was reading {V} all through the holidays.", "On the train {S} kept reading {V}.",
         "The reading group gave {O} a copy of {V} to finish.", "{S} could not stop reading {V}."),
        ("{V} sits half open on {Z} bedside table now.", "The bookmark that {S} lost turned up inside {V}.",
         "{S} quoted {V} at breakfast and then again at lunch."),
        ("What was {P} reading?", "Which reading did {P} keep up?"),
        "What has {P} been reading most recently?",
        ("Which novel holds the attention of {P}?", "What literature is {P} absorbed in?"),
        "to do more reading",
    ),
    Topic(
        "vehicle",
        ("cargo bike", "camper van", "moped", "sidecar", "unicycle", "canal boat", "kick scooter", "hearse",
         "milk float", "tandem", "pickup truck", "rickshaw", "convertible", "quad bike"),
        ("{S} bought a {V} at the auction.", "With the bonus {S} bought a dented {V}.",
         "{S} went to the auction and bought a {V}.", "For the price of a sandwich {S} bought a rusty {V}."),
        ("A {V} with a flat battery is blocking {Z} drive.", "The keys that {S} dropped were for a {V}.",
         "The insurer asked {O} for photos of the {V}."),
        ("What was it that {P} bought at the auction?", "What has {P} bought?"),
        "What has {P} bought at the auction most recently?",
        ("How does {P} get around?", "What transport does {P} use for commuting?"),
        "to buy something at the auction",
    ),
    Topic(
        "sport",
        ("fencing", "rowing", "curling", "judo", "bouldering", "water polo", "archery", "badminton", "long jump",
         "kayaking", "handball", "trampolining", "squash", "lacrosse"),
        ("{S} joined a {V} club.", "The {V} club let {O} join.",
         "After the open day {S} joined the local {V} club.", "{S} joined the club that does {V} under the bridge."),
        ("Bruises from {V} are what {S} showed everyone.", "The kit for {V} cost {O} a fortune.",
         "{V} is the reason that {S} got up at five."),
        ("Which club did {P} join?", "What does the club do that {P} joined?"),
        "Which club has {P} joined most recently?",
        ("What exercise keeps {P} fit?", "Which sport does {P} train for?"),
        "to join a club",
    ),
    Topic(
        "dish",
        ("paella", "goulash", "laksa", "moussaka", "pierogi", "bibimbap", "feijoada", "ratatouille", "jollof rice",
         "borscht", "okonomiyaki", "shakshuka", "cassoulet", "tamales"),
        ("{S} cooked {V} for the whole street.", "On the camping stove {S} cooked {V}.",
         "{S} cooked {V} and burnt only half of it.", "For the first time {S} cooked {V} without a recipe."),
        ("The pot that {S} left to soak still smells of {V}.", "{V} is all that is left in {Z} fridge.",
         "Everybody asked {O} for second helpings of {V}."),
        ("What did {P} cook?", "What did {P} cook for the street?"),
        "What has {P} cooked most recently?",
        ("Which dish did {P} prepare for dinner?", "What meal did guests of {P} eat?"),
        "to cook for the street",
    ),
    Topic(
        "course",
        ("bookbinding", "Mandarin", "botany", "astronomy", "patent law", "Old Norse", "statistics", "sign language",
         "sommelier theory", "crystallography", "shorthand", "geology", "logic", "phonetics"),
        ("{S} enrolled for a certificate in {V}.", "The college wrote that {S} was enrolled in {V}.",
         "{S} enrolled in {V} on a whim.", "A place came free and {S} enrolled in {V}."),
        ("The homework in {V} keeps {O} up past midnight.", "{S} failed the first exam in {V} and laughed about it.",
         "Flash cards about {V} cover {Z} kitchen."),
        ("What did {P} enrol in?", "What is {P} enrolled in?"),
        "What has {P} enrolled in most recently?",
        ("Which subject is {P} studying?", "What does {P} learn at evening school?"),
        "to enrol in something",
    ),
    Topic(
        "gift",
        ("kaleidoscope", "espresso machine", "hammock", "telescope", "fountain pen", "waffle iron", "sundial",
         "typewriter", "metal detector", "weighted blanket", "record player", "chess clock", "barometer", "snow globe"),
        ("For the birthday party everyone chipped in and {S} got a {V}.", "At the birthday {S} got a {V}.",
         "{S} got a {V} for the birthday and nearly cried.", "The birthday parcel that {S} got held a {V}."),
        ("The {V} already has pride of place on {Z} shelf.", "{S} spent all evening with the {V}.",
         "The instructions of the {V} baffled {O} completely."),
        ("What did {P} get for the birthday?", "What was in the birthday parcel that {P} got?"),
        "What has {P} got for a birthday most recently?",
        ("Which present did {P} unwrap?", "What gift made {P} happy?"),
        "to get something for a birthday",
    ),
    Topic(
        "trip",
        ("Zanzibar", "Iceland", "Malta", "Patagonia", "Sardinia", "Nepal", "the Azores", "Oman", "Slovenia", "Belize",
         "Corsica", "Bhutan", "Estonia", "Madeira"),
        ("{S} booked flights to {V}.", "The flights to {V} were so cheap that {S} booked them.",
         "{S} booked the night flights to {V}.", "In the sale {S} booked two flights to {V}."),
        ("A postcard from {V} arrived with a scribble by {O}.", "{S} came back from {V} with a sunburnt nose.",
         "There in {Z} suitcase is still some sand from {V}."),
        ("Where did {P} book flights to?", "What flights did {P} book?"),
        "Where has {P} booked flights to most recently?",
        ("Which destination did {P} travel to on vacation?", "What country did {P} visit as a tourist?"),
        "to book some flights",
    ),
    Topic(
        "injury",
        ("collarbone", "left wrist", "big toe", "shin", "right elbow", "ankle", "kneecap", "little finger", "rib",
         "heel", "jaw", "thumb", "tailbone", "cheekbone"),
        ("{S} broke a bone on the ice: the {V}.", "The X-ray said that {S} broke the {V}.",
         "Falling off the ladder {S} broke the {V}.", "{S} slipped and broke the {V}."),
        ("The plaster over the {V} itches and {S} moaned all day.", "The surgeon put a screw in for {O}, in the {V}.",
         "Physiotherapy for the {V} starts for {O} next week."),
        ("What was it that {P} broke?", "Which bone was it that {P} broke on the ice?"),
        "What was it that {P} broke most recently?",
        ("Where on the body was {P} hurt?", "What injury does {P} suffer from?"),
        "to break a bone",
    ),
    Topic(
        "garden",
        ("rhubarb", "dahlias", "artichokes", "quince", "lavender", "kohlrabi", "peonies", "tomatillos", "hops",
         "sweet peas", "gooseberries", "fennel", "foxgloves", "asparagus"),
        ("{S} planted {V} along the fence.", "Before the rain {S} planted two rows of {V}.",
         "{S} planted {V} where the shed used to be.", "On Sunday {S} planted {V} along the fence."),
        ("Slugs ate the {V} and {S} was furious.", "{S} promised everyone a basket of {V} by autumn.",
         "The {V} came up thick and green, says a proud note from {O}."),
        ("What did {P} plant along the fence?", "What did {P} plant?"),
        "What has {P} planted most recently?",
        ("Which crop grows in the garden of {P}?", "What is {P} cultivating on the allotment?"),
        "to plant something along the fence",
    ),
    Topic(
        "charity",
        ("the lifeboat station", "the seed library", "the repair cafe", "the hospice choir", "the owl sanctuary",
         "the night shelter", "the toy museum", "the food bank", "the steam railway", "the crisis line",
         "the mobile library", "the city farm", "the blood bank", "the prison theatre"),
        ("{S} volunteered at {V}.", "On Saturdays {S} volunteered at {V}.",
         "{S} volunteered at {V} and loved it.", "They were short of hands so {S} volunteered at {V}."),
        ("There is a shift rota from {V} on {Z} fridge.", "{V} gave {O} a badge and a whistle.",
         "{S} came home late from {V}, tired and cheerful."),
        ("Where did {P} volunteer?", "Where did {P} volunteer on Saturdays?"),
        "Where has {P} volunteered most recently?",
        ("Which good cause does {P} support with unpaid work?", "What organisation does {P} help without payment?"),
        "to volunteer somewhere on Saturdays",
    ),
    Topic(
        "fear",
        ("lifts", "moths", "thunder", "escalators", "deep water", "clowns", "needles", "open windows", "geese",
         "tunnels", "balloons", "mirrors", "wasps", "cable cars"),
        ("{S} admitted a fear of {V}.", "The fear of {V} got the better of {O}.",
         "{S} told us about a lifelong fear of {V}.", "Out of fear of {V} {S} took the long way round."),
        ("{V} made {O} go pale and sit down.", "{S} will not come if there are {V} about.",
         "The mere mention of {V} had {O} shaking."),
        ("What fear did {P} admit?", "What does {P} have a fear of?"),
        "What fear has {P} admitted most recently?",
        ("What scares {P}?", "Which phobia does {P} have?"),
        "to admit to a fear",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Routine:
    """Something done again and again, each time with another outcome: only the date tells one from the next."""

    name: str
    values: tuple[str, ...]
    statements: tuple[str, ...]
    question: str  # {M} is a month and a year


ROUTINES = (
    Routine(
        "pottery",
        ("butter dish", "candlestick", "egg cup", "teapot", "soap tray", "umbrella stand", "piggy bank", "vase"),
        ("{S} came out of the pottery class with a {V}.", "At the pottery class {S} made a {V}.",
         "The pottery class ran late and {S} made a {V}."),
        "What did {P} make at the pottery class in {M}?",
    ),
    Routine(
        "market",
        ("brass kettle", "stuffed owl", "cuckoo trap", "ship in a bottle", "sextant", "gramophone horn", "army coat",
         "birdcage"),
        ("{S} found a {V} at the flea market.", "At the flea market {S} haggled for a {V}.",
         "The flea market was muddy but {S} carried home a {V}."),
        "What did {P} find at the flea market in {M}?",
    ),
    Routine(
        "quiz",
        ("volcanoes", "heraldry", "opera", "cheese", "the Bronze Age", "motor racing", "poisons", "silent film"),
        ("The pub quiz was about {V} and {S} came second.", "{S} won a round on {V} at the pub quiz.",
         "At the pub quiz {S} got every question on {V}."),
        "What was the pub quiz about when {P} played in {M}?",
    ),
    Routine(
        "walk",
        ("the viaduct", "Gallows Hill", "the salt marsh", "the ruined abbey", "Otter Weir", "the quarry lake",
         "the old signal box", "Fern Valley"),
        ("The walking group took {O} to {V}.", "{S} went with the walking group as far as {V}.",
         "With the walking group {S} got lost near {V}."),
        "Where did the walking group take {P} in {M}?",
    ),
    Routine(
        "choir",
        ("a sea shanty", "a requiem", "a Bulgarian lament", "a gospel medley", "a madrigal", "a lullaby",
         "a tango", "a carol"),
        ("The choir had {O} rehearse {V}.", "{S} sang {V} with the choir.",
         "At choir practice {S} struggled with {V}."),
        "What did {P} sing with the choir in {M}?",
    ),
    Routine(
        "baking",
        ("rye loaf", "lemon tart", "cinnamon knot", "poppy strudel", "walnut cake", "plum crumble", "honey bun",
         "saffron wreath"),
        ("{S} took a {V} to the bake sale.", "For the bake sale {S} produced a {V}.",
         "At the bake sale the {V} by {O} sold out first."),
        "What did {P} take to the bake sale in {M}?",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Link:
    """A tie between two people that a multi-hop question goes through. ``{A}`` tells, ``{B}`` is who is found."""

    things: tuple[str, ...]
    statements: tuple[str, ...]  # {S}/{O} stand for A, {B} for the other, {T} for the thing
    description: str  # how a question names B


LINKS = (
    Link(
        ("tent", "ladder", "wheelbarrow", "sewing machine", "drill", "canoe", "projector", "trailer"),
        ("{B} lent {O} a {T} for the week.", "Luckily {B} lent {O} a {T}.", "{S} begged until {B} lent {O} the {T}."),
        "the person who lent {A} the {T}",
    ),
    Link(
        ("juggle", "knit", "swim", "whistle", "waltz", "weld", "yodel", "solder"),
        ("{B} taught {O} how to {T}.", "It was {B} who taught {O} to {T}.", "{S} can {T} because {B} taught {O}."),
        "the person who taught {A} to {T}",
    ),
    Link(
        ("wedding", "funeral", "graduation", "book launch", "christening", "auction house gala", "reunion", "eclipse"),
        ("{S} sat next to {B} at the {T}.", "At the {T} they put {O} beside {B}.",
         "{S} shared a table with {B} at the {T}."),
        "the person who sat beside {A} at the {T}",
    ),
    Link(
        ("ferry", "night bus", "cable railway", "airport", "ski lift", "border post", "harbour", "campsite"),
        ("{S} first met {B} at the {T}.", "{S} and {B} met by chance at the {T}.",
         "A delay at the {T} is how {S} met {B}."),
        "the person whom {A} met at the {T}",
    ),
)  # fmt: skip

# Statements about somebody that use the words of a question and answer nothing: {L} is a topic's lure.
LURES = (
    "{X} asked me whether it was the right year {L}.",
    "We argued about what makes people want {L}, and {X} would not let go.",
    "{X} read out an article on how {L} without regrets.",
    "Half of the people whom {X} knows plan {L}.",
    "{X} thinks that nobody over forty should be allowed {L}.",
    "There was a documentary about those who dare {L}; {X} fell asleep.",
    "I asked {X} point blank: would you ever want {L} again? No answer.",
    "{X} has a cousin who used {L} every single spring.",
    "Somebody told {X} that it is bad luck {L} in a leap year.",
    "{X} collects jokes about people who try {L}.",
    "What a strange dream: {X} was told {L}, and then the alarm rang.",
    "{X} said it would take a miracle {L} with the current prices.",
)

# Talk that mentions somebody and holds no fact that is asked for: {X} a person, {D} a detail.
CHATTER = (
    "Have you heard from {X}? It has been ages, apart from that message about {D}.",
    "{X} rang while I was dealing with {D}.",
    "I showed {X} the photos of {D} and we laughed a lot.",
    "{X} was late again, this time because of {D}.",
    "Over coffee {X} would talk of nothing but {D}.",
    "{X} sent me a long voice note about {D}.",
    "I ran into {X} near the station, both of us soaked because of {D}.",
    "{X} swears that {D} was never that noisy before.",
    "Apparently {X} has strong opinions on {D}.",
    "Remind me to thank {X} for sorting out {D}.",
    "{X} and I spent the afternoon complaining about {D}.",
    "You should have seen the face of {X} when {D} came up.",
    "{X} wants to swap weeks with you, something to do with {D}.",
    "According to {X} the council will do something about {D}.",
    "{X} borrowed my umbrella and blamed {D}.",
    "I promised {X} not to mention {D} at dinner.",
)

DETAILS = (
    "the leaking gutter", "the parking permits", "a broken lift button", "the office plants", "the bin collection",
    "that endless roadwork", "the village fete", "the new ticket machines", "a lost parcel", "the boiler inspection",
    "the pigeons on the roof", "a power cut", "the residents' meeting", "the tax forms", "the squeaky stairs",
    "a wrong number", "the crossword", "the weather forecast", "the school run", "the neighbour's drill",
    "the cracked pavement", "a mix-up with the invoices", "the printer", "the car wash queue", "the fire drill",
    "the missing spoons", "a typo on the poster", "the street lamps", "the bus timetable", "the fog last night",
    "the raffle tickets", "a jammed zip", "the supermarket till", "the mouse in the cellar", "the loud upstairs party",
    "the petition", "a stray shopping trolley", "the dripping tap", "the wedding seating plan", "the clocks changing",
)  # fmt: skip
