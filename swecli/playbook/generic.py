"""General advice: sentences that would be as true in any other project and for any other user."""

from __future__ import annotations

import re

from swecli.playbook.anchors import anchors_of
from swecli.playbook.relevance import terms

# Words of which advice for everyone is made. A sentence that names nothing else, or hardly anything, is such advice.
_ADVICE = """
    ability able abstraction accept accident accurate achieve act acting action activity adapt add address advance
    advice affect aggressive aim algorithm allow alternative ambiguous analyze answer anticipate anyone anything
    apologize apply approach appropriate architecture area argument arise ask asking aspect aspire assert assess
    assume assumption attempt attention attentive authority automate avoid aware awareness back backup bad balance
    base basic begin behavior being believe benefit best better big block bottleneck boundary boy break brief bring
    bug build caching call calm careful carelessness case catch cause caution cautious central challenge change
    check choice choose clarification clarify clarity class clean cleaner clear clever code codebase coding
    coherent cohesion collaborate colleague collect command comment commit common communicate communication
    community compare compatibility compatible complain complete complex complexity complicated component
    composition comprehensive computer concern concise conclude conclusion concrete condition confident confirm
    confusion consider consistent constant constraint construct consult content context continue contribute control
    convention copy-paste corner correct correctness could coupling coverage craft create critical criticism
    curious current cut cycle damage data date dead deadline deal debug debugging decide decision decompose
    decouple deep default define delete deliver depend dependable dependency deploy describe description
    descriptive design destructive detail detect determine develop developer development difference different
    difficult diligent direct disciplined discuss divide document documentation doing don double doubt down dry
    duplicate duplication earlier early easier easy edge edit effect effective efficient effort elegant eliminate
    emphasize encapsulate encapsulation encourage end enjoy enough ensure entire error essential establish estimate
    evaluate event everyone everything exact example excellence excellent exception execute exist existing expect
    experience explain explanation explicit explore expression extend facilitate fail failing failure fair fallback
    fast faster favor favour feature feedback fewer field file final find finish first fix flexible flow focus
    follow foresee forget format formatting former forward framework full fully function functionality fundamental
    future gather general generality generate get give goal good graceful grow guard guess guide guideline habit
    hack hand handle handling happy hard hardcode hardcoding healthy help helper helpful helpfulness heuristic
    hidden high honest honor humble hurry hypothesis idea identify idiom idiomatic ignore immutability immutable
    impact implement implementation implication implicit important improve include incremental indicate individual
    inform information inheritance initial input insight inspect instruction integrate intend intent interface
    intermediate intuitive inventing invest investigate isolate isolation issue iterate iteration judgement
    judgment jump justify keep key kind kiss know knowledge large late latter layer laziness lead learn learning
    least leave legible length less lesson level library limit line list listen little logic logical long look loop
    loose lot love low magic maintain maintainable maintenance make manage manageable manner matter mean meaningful
    measure meet mental merciless mercilessly method mind minimal minimize minimum mislead miss mistake mitigate
    mock mode modern modest modify modular module monitor move multiple mutable name naming neat necessary need
    nesting new next nice nitpick nothing notice number objective observe obvious occur offer often old once open
    operation opinion opportunity optimal optimization optimize option order organize original outcome output
    overall overcomplicate overengineer overengineering overview own paragraph parameter part pass past patch path
    patience patient pattern pay perfect perfection perfectionism perform performance permanent person perspective
    phase piece place plan point polite possible postpone potential practice practise pragmatic praise precaution
    precise precision predictable prefer premature prematurely prepare present preserve prevent previous pride
    principle principles prioritize priority proactive problem procedure proceed process procrastinate produce
    production productive professional profile program progress project promise prompt proper protect prototype
    proud prove provide pull purpose push quality question quick quickly random rarely rational reach read
    readability readable reader real reason reasoning recheck recommend reconsider record redundant refactor
    refactoring reference reflect regular related relevant reliability reliable reliably rely remain remember
    remove repeat report represent reproduce reproducible request require requirement research resource respect
    respectful respond response responsibility responsive rest result reusable reuse review revise rewrite right
    risk risky robust rollback root rule run rush safe safety sanitize sanity save scalable scale scenario scope
    scout second secret section secure security see seek select self-documenting sensible separate sequence serious
    session setup several share short shortcut shorter should show side signature significant silent silently
    simple simpler simplicity simplify single situation size skill skip slow slowly small smart software solid
    solution solve somebody someone something sound source spaghetti specific specification specify speculate speed
    spend spirit split stable standard start state statement stay step stop straightforward strategy strength
    strict strive strong structure structured stuff stupid style succeed success successful sufficient suggest
    suitable summarize summary support sure surprise surround surrounding sustainable symptom system systematic
    take target task team teammate technical technique technology temporary tempt term test testable testing thing
    think thorough thoroughly thought thoughtful thoughtless throughout throw tidy time time-box together tool top
    topic total trace track trade-off tradeoff tradeoffs transparent trivial trouble troubleshoot true trust truth
    try turn twice type uncertain uncertainty unclear understand understandable understanding undo unexpected unit
    unknown unnecessary unsure untested untrusted unused up-to-date update upfront usability use useful user using
    usually vague valid validate validation value variable variant variety various verbose verbosity verify version
    view vigilant visible wait warn warning way weakness weigh well whatever whenever while whole willing wise
    wonder word work workflow world worry worth wrap write wrong yagni yourself yourselves
"""
_RATSCHLAG = """
    abgeben abgibst abkürzungen absprache achte achten alle allem alles allgemein anforderung angemessen annahme
    annahmen antwort arbeit arbeite arbeiten arbeitest auf aufgabe aufmerksam aufteilen aufwand aus ausreichend
    aussagekräftig beachte bedacht bedenke bedürfnis befolge beginne beginnen behalte behandle behebe beim beispiel
    benenne benutze benutzer bessere beste bestehend bevor bewährt bitte bleib bleibe blick code codes codestil
    dabei dann das dass datei dateien dein deine deinem deinen deiner deines dem den denk denke denken der des dich
    die dinge dokument dokumentation dokumentiere du durch durchdacht effizient effizienz ehe ein eindeutig eine
    einem einen einer einfach einfache einfachheit eingabe eingaben entwickler erfahrung ergebnis ergebnisse
    erkläre erledige erst erwartung erwartungen etwas falls fang fehler fehlerbehandlung fehlermeldung
    fehlermeldungen fertig fertigst fest finde fokus frage fragen freundlich früh fundiert funktion funktionen
    führe für ganz geduld geduldig gefahr genau genug genügend geschwindigkeit gestalte gewissenhaft gib grenzfälle
    große großen größere gründlich gründlichkeit gut gute guten halte handeln handle herangehen hilf hilfreich
    hinterfrage hinweis höflich ideen ihre im immer in information informationen informiere ist jede jeden jeder
    jederzeit kein keine klar klare klarheit klein kleine kleinen kleinere kommentiere kommuniziere komplexe
    komplexen komplexität konsequent konsistent konventionen konzentriere kritisch kurz kümmere langsam lern lerne
    lesbar lesbaren lesbarkeit lese lesen lieber lies logik löse lösung lösungen mach mache manchmal mehr methode
    methoden mich mit muster möglich möglichst nach nachdenken nachfragen nachvollziehbar name namen nicht nie
    niemals niemand nimm notwendig nutze nutzer nützlich oder offen optimiere ordentlich paar passend passende
    pausen plan plane planen praxis prinzip prinzipien prioritäten problem probleme projekt projekts präzise prüfe
    prüfen qualitativ qualität rechne refaktoriere ressourcen richtig risiken risiko ruhig rückfragen rücksicht
    sauber saubere sauberen sauberkeit schnell schreibe schreiben schritt schritte sei sein setze sich sicher
    sicherheit sind sinnvoll sinnvolle so sonderfälle sorge sorgfalt sorgfaltig sorgfältig spare sprechende
    standard standards stelle stellen stets stil struktur strukturiere teile teste testen testfälle tests
    transparent trenne tu um umfang umgebung und unklar unklarheiten unnötig unnötige unterscheide unterschätze
    unterteile ursache ursachen variablen verantwortung verbessere verhalten verlass verlasse vermeide vernünftig
    verschwende versteh verstehe verstehen verständlich verständlichen versuche vertraue verwende veränderung viel
    vollständig vollständige vollständigkeit von vor voraus vorgehen vorhandenen vorher vorsichtig wart wartbar
    wartbaren wartbarkeit warte was weiter wenig wenn werkzeug wert wichtig wichtigste wie wiederhole wissen wähle
    zeile zeit zerlege ziel ziele zu zuerst zum zur zusammenfassung zusammenhang zuverlässig zweifel ändere änderst
    änderung änderungen über überblick überlege überprüfe
"""
_GERMAN_OPENINGS = frozenset(_RATSCHLAG.split()) - frozenset(_ADVICE.split())
ADVICE = terms(_ADVICE) | terms(_RATSCHLAG)
_BEGINNING = 5
_ANFAENGE = frozenset(word[:_BEGINNING] for word in _RATSCHLAG.split() if len(word) >= _BEGINNING)
UNKNOWN = 4  # of as many words one may be another: "look at the surrounding code before editing"
_SPECIFIC = re.compile(
    r"`[^`]+`|(?<!\w)--?[a-z]|\w[/\\]\w|\w\.\w|\w_\w|[a-z][A-Z]|\d|(?<!^)(?<![.!?:] )\b[A-Z][A-Za-z]+"
)
# German writes every noun with a capital: there, only names in other shapes are specific.
_SPECIFIC_GERMAN = re.compile(r"`[^`]+`|(?<!\w)--?[a-z]|\w[/\\]\w|\w\.\w|\w_\w|[a-z][A-Z]|\d|\b[A-Z]{2,}\b")
_GERMAN = re.compile(
    r"\b(?:der|das|dein\w*|nicht|und|auf|für|mit|immer|dann|ist|wird|nach|vor|einen?|keine?n?|bevor)\b|[äöüß]",
    re.I,
)
# "Warnings are errors in the test run" tells how things are; "tests are important" only urges.
_STATES = re.compile(
    r"\w (?:is|are|has|have|needs?|takes?|runs?|ist|sind|hat|haben|braucht|läuft|laufen) ", re.IGNORECASE
)
_URGES = re.compile(
    r"\b(?:should|always|never|must|important|good|better|best|bad|worse|essential|crucial|key|matters?|helps?|easi\w+|"
    r"easy|hard\w*|clear\w*|simple\w*|avoid|when|whenever|unless|while|if|before|after|ensure|make sure|be|you|your|"
    r"wichtig|gut|besser|immer|nie|sollte\w*|muss|wenn|bevor|dein\w*)\b",
    re.IGNORECASE,
)
_USERS_WISH = re.compile(
    r"\b(?:user|team|reviewer)s?\b (?:\w+ )?(?:wants?|prefers?|likes?|dislikes?|hates?|reviews?|expects?|writes?|says|"
    r"keeps?|is|uses|insists?|asks? for|does not|doesn['’]t)\b",
    re.IGNORECASE,
)


def is_generic(content: str) -> bool:
    """Whether a text would be as true anywhere else: it names nothing and hardly says what advice does not say."""
    german = _GERMAN.search(content) or content.split(maxsplit=1)[0].lower() in _GERMAN_OPENINGS
    specific = _SPECIFIC_GERMAN if german else _SPECIFIC
    if specific.search(content) or _USERS_WISH.search(content) or anchors_of(content):
        return False
    if _STATES.search(content) and not _URGES.search(content):
        return False
    said = terms(content)
    if german:
        return sum(not _raet(word) for word in said) <= len(said) // UNKNOWN
    return sum(not _advises(term) for term in said) <= len(said) // UNKNOWN


def _raet(word: str) -> bool:
    """The same for German, whose words bend: the first letters of a longer one are enough."""
    return word in ADVICE or (len(word) >= _BEGINNING and word[:_BEGINNING] in _ANFAENGE)


def _advises(term: str) -> bool:
    """Whether advice is made of such words; `carefully` counts with `careful`, `gracefully` with `grace`."""
    return term in ADVICE or any(
        term.endswith(ending) and not ADVICE.isdisjoint(terms(term.removesuffix(ending)))
        for ending in ("ly", "fully", "ally")
    )
