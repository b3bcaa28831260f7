"""General advice: sentences that would be as true in any other project and for any other user."""

from __future__ import annotations

import re

from swecli.playbook.anchors import anchors_of
from swecli.playbook.relevance import terms

# Words of which advice for everyone is made. A sentence that names nothing else, or hardly anything, is such advice.
_ADVICE = """
    ability able accept accurate achieve act acting action activity adapt add address advance advice affect aim
    algorithm allow alternative ambiguous analyze answer anticipate anyone anything apply approach appropriate
    architecture area argument arise ask asking aspect aspire assert assess assume assumption attempt attention
    attentive automate avoid aware awareness backup bad balance base basic begin behavior being believe benefit
    best better big block boundary boy break bring bug build call calm careful case catch cause caution cautious
    central challenge change check choice choose clarify clarity class clean cleaner clear clever code codebase
    coding collaborate colleague collect command comment commit common communicate communication community compare
    compatibility compatible complain complete complex complexity component comprehensive computer concern concise
    conclusion condition confirm confusion consider consistent constraint construct content context continue
    contribute control convention corner correct could coverage craft create critical curious current cut damage
    data dead deadline deal debug debugging decide decision decompose deep default define delete deliver depend
    dependency deploy describe description descriptive design destructive detail detect determine develop developer
    development difference different difficult diligent direct discuss divide document documentation doing don
    double doubt down dry duplicate duplication early easier easy edge edit effect effective efficient effort
    elegant eliminate emphasize encourage end enough ensure entire error essential establish evaluate event
    everyone everything exact example excellence excellent exception execute exist existing expect experience
    explain explanation explicit explore expression extend facilitate fail failing failure fair fast faster feature
    feedback fewer field file final find finish first fix flexible flow focus follow foresee format former forward
    framework full fully function functionality fundamental future gather general generate get give goal good
    graceful grow guess guide guideline habit handle happy hard healthy help helpful helpfulness hidden high honest
    honor humble hypothesis idea identify ignore impact implement implementation implication important improve
    include incremental indicate individual inform information initial input insight inspect instruction integrate
    intend intent interface intermediate intuitive invest investigate issue iterate iteration judgement judgment
    keep key kind kiss know knowledge large late latter layer laziness lead learn learning least leave length less
    lesson level library limit line list listen little logic logical long look loose lot love low magic maintain
    maintainable maintenance make manage manageable manner matter mean meaningful measure meet merciless
    mercilessly method mind minimal minimize mislead miss mistake mock mode modern modest modify modular module
    monitor move multiple name naming neat necessary need new next nice nothing notice number objective observe
    obvious occur offer often old once open operation opinion opportunity optimal optimization optimize option
    order organize original outcome output overall overview own paragraph parameter part pass past path patience
    patient pattern pay perfect perfection perfectionism perform performance permanent person perspective phase
    piece place plan point polite possible potential practice practise pragmatic praise precise precision prefer
    premature prematurely prepare present preserve prevent previous pride principle principles prioritize priority
    problem procedure proceed process produce production productive professional program progress project prompt
    proper protect proud prove provide pull purpose push quality question quick quickly random rarely rational
    reach read readability readable reader real reason reasoning recheck recommend reconsider record redundant
    refactor refactoring reference reflect regular related relevant reliability reliable reliably rely remain
    remember remove repeat report represent request require requirement research resource respect respectful
    respond response responsibility responsive rest result reusable reuse review revise rewrite right risk robust
    root rule run rush safe safety save scalable scale scope scout second section secure security see seek select
    sensible separate sequence serious session setup several share short shorter should show side significant
    simple simpler simplicity simplify single situation size skill skip slow small smart software solid solution
    solve somebody someone something sound source specific specification specify speed spend split stable standard
    start state statement stay step stop strategy strength strict strive strong structure structured stuff stupid
    style succeed success successful sufficient suggest suitable summarize support sure surprise surround
    surrounding sustainable system systematic take target task team technical technique technology temporary term
    test testable testing thing think thorough thoroughly thought thoughtful throughout tidy time together tool top
    topic total track trade-off tradeoff transparent trivial trouble troubleshoot true trust truth try turn twice
    type unclear understand understandable understanding unexpected unit unknown unnecessary unused update
    usability use useful user using usually valid validate validation value variable variety various verbose verify
    version view wait warn warning way weakness weigh well whenever while whole wise word work workflow world worry
    worth wrap write wrong yagni yourself
"""
_RATSCHLAG = """
    abkürzungen absprache achte achten alle allem alles allgemein anforderung angemessen antwort arbeit arbeite
    arbeiten auf aufgabe aufmerksam aufteilen aufwand aus ausreichend aussagekräftig beachte bedacht bedenke
    befolge beginne beginnen behalte behandle behebe beim beispiel benenne benutze benutzer bessere beste bestehend
    bevor bewährt bitte bleib bleibe blick code codes codestil dabei dann das dass datei dateien dein deine deinem
    deinen deiner deines dem den denk denke denken der des die dinge dokumentation dokumentiere du durch durchdacht
    effizient effizienz ehe ein eindeutig eine einem einen einer einfach einfache einfachheit eingabe eingaben
    entwickler erfahrung ergebnis ergebnisse erkläre erledige erst etwas falls fang fehler fehlerbehandlung
    fehlermeldung fehlermeldungen fertig fest finde fokus frage fragen freundlich früh funktion funktionen führe
    für ganz geduld gefahr genau genug genügend geschwindigkeit gestalte gib gründlich gründlichkeit gut gute guten
    halte handeln handle herangehen hilf hilfreich höflich ihre im immer in information informationen informiere
    ist jede jeden jeder jederzeit kein keine klar klare klarheit klein kleine kleinen kleinere kommentiere
    kommuniziere komplexe komplexen komplexität konsistent konventionen konzentriere kurz kümmere langsam lern
    lerne lesbar lesbaren lesbarkeit lese lieber lies löse lösung lösungen mach mache manchmal mehr methode
    methoden mit möglich möglichst nach nachdenken nachvollziehbar name namen nicht nie niemals notwendig nutze
    nutzer oder offen optimiere ordentlich passende plan plane planen praxis problem probleme projekt projekts
    präzise prüfe prüfen qualitativ qualität rechne richtig ruhig rückfragen sauber saubere sauberen schnell
    schreibe schreiben schritt schritte sei sein setze sich sicher sicherheit sind sinnvoll sinnvolle so sorge
    sorgfalt sorgfaltig sorgfältig spare sprechende stelle stellen stets stil struktur strukturiere teile teste
    testen tests transparent trenne tu um und unklar unklarheiten unnötig unnötige unterteile ursache ursachen
    variablen verantwortung verbessere verlasse vermeide vernünftig verstehe verstehen verständlich verständlichen
    versuche vertraue verwende viel vollständig vollständige von vor vorhandenen vorher vorsichtig wart wartbar
    wartbaren wartbarkeit warte was weiter wenig wenn werkzeug wichtig wichtigste wie wiederhole wähle zeit ziel
    ziele zu zuerst zum zur zusammenhang zuverlässig ändere änderst änderung änderungen über überlege überprüfe
"""
_GERMAN_OPENINGS = frozenset(_RATSCHLAG.split()) - frozenset(_ADVICE.split())
ADVICE = terms(_ADVICE) | terms(_RATSCHLAG)
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
    r"\b(?:should|always|never|must|important|good|better|best|bad|worse|essential|crucial|key|matters?|"
    r"helps?|easi\w+|easy|hard\w*|clear\w*|simple\w*|avoid|when|if|before|after|ensure|make sure|be|you|your|wichtig|"
    r"gut|besser|immer|nie|sollte\w*|muss|wenn|bevor|dein\w*)\b",
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
    return sum(not _advises(term) for term in said) <= len(said) // UNKNOWN


def _advises(term: str) -> bool:
    """Whether advice is made of such words; `carefully` counts with `careful`, `gracefully` with `grace`."""
    return term in ADVICE or any(
        term.endswith(ending) and not ADVICE.isdisjoint(terms(term.removesuffix(ending)))
        for ending in ("ly", "fully", "ally")
    )
