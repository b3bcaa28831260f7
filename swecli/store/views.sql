-- The views of `swecli sql` and `/sql`: a stable interface that does not change with the tables. Each view and column
-- has a comment, from which scripts/reference generates docs/reference/sql.md.
CREATE VIEW sessions AS -- one row for each session
SELECT
  id AS id, -- the id, for `swecli -r`
  title AS title, -- the title, "" for none
  directory AS directory, -- its working directory
  project AS project, -- the key of the project whose strategies it uses: its first commit, or a path
  model AS model, -- the model of its last turn
  parent_id AS parent_id, -- the session that it was forked from, or NULL
  interactions AS turns, -- the number of turns
  messages AS messages, -- the number of messages
  cost AS cost, -- US dollars, NULL if a price is unknown
  first_query AS first_query, -- the beginning of its first query
  directory = '' AND parent_id IS NOT NULL AS undone, -- 1 if it only contains undone turns of its parent
  created_at AS created_at,
  updated_at AS updated_at
FROM session;

CREATE VIEW turns AS -- one row for each turn: a query, its steps and its answer
SELECT
  i.session_id AS session_id,
  i.number AS turn, -- its number in the session
  i.status AS status, -- how the turn ended, `running` until then
  (SELECT content FROM message m WHERE m.session_id = i.session_id AND m.interaction = i.number ORDER BY m.id LIMIT 1)
    AS query, -- what the user typed
  r.requests AS requests, -- requests to models, for all purposes
  r.tokens_in AS tokens_in, -- tokens sent, cached or not
  r.tokens_cached AS tokens_cached, -- of these, tokens read from the provider's cache
  r.tokens_out AS tokens_out, -- tokens of the answers, without reasoning
  r.cost AS cost, -- US dollars, NULL if a price is unknown
  i.mark AS mark, -- the user's mark: `good`, `bad` or ""
  i.why AS why, -- the reason for the mark
  p.good AS good, -- outcome: 1 good, 0 bad, NULL unknown
  p.signal AS signal, -- the evidence for the outcome
  i.window_spec AS window, -- the window setting
  i.window_start AS window_start, -- the first turn in the window
  i.started_at AS started_at,
  i.finished_at AS finished_at,
  round((julianday(i.finished_at) - julianday(i.started_at)) * 86400, 1) AS seconds -- duration
FROM interaction i
LEFT JOIN (
  SELECT session_id, interaction, count(*) AS requests, sum(input + cache_read + cache_write) AS tokens_in,
    sum(cache_read) AS tokens_cached, sum(output) AS tokens_out,
    CASE WHEN count(cost) = count(*) THEN sum(cost) END AS cost
  FROM model_request GROUP BY session_id, interaction
) r ON r.session_id = i.session_id AND r.interaction = i.number
LEFT JOIN playbook_turn p ON p.session_id = i.session_id AND p.interaction = i.number;

CREATE VIEW messages AS -- one row for each message
SELECT
  id AS id, -- ascending in time
  session_id AS session_id,
  interaction AS turn,
  role AS role, -- `user` or `assistant`
  content AS content, -- the text as typed or answered
  sent AS sent, -- the text sent to the model instead, without its notes; NULL if it is the same
  reasoning AS reasoning, -- the model's reasoning, if any
  tokens AS tokens, -- tokens of the text sent, usually estimated; NULL if not counted
  status AS status, -- `complete`, `partial` (interrupted), `steer` (added to a running turn) or `goal` (sent by swecli)
  created_at AS created_at,
  nullif(notes, 'null') AS notes, -- what the model was told with it, such as changed strategies, as JSON; NULL for nothing
  goal AS goal -- the id of the goal that the turn of a query works to, "" for none
FROM message;

CREATE VIEW calls AS -- one row for each tool call
SELECT
  c.id AS id, -- ascending in time
  c.session_id AS session_id,
  m.interaction AS turn,
  c.message_id AS message_id, -- `messages.id` of the message that contains the call
  c.name AS tool,
  c.parameters AS parameters, -- the arguments as JSON
  json_extract(c.parameters, '$.path') AS path, -- the argument `path`
  json_extract(c.parameters, '$.command') AS command, -- the argument `command`
  coalesce(f.text, c.result) AS result, -- the complete result, also if the model got less
  c.status AS status, -- how it ended: `finished`, `failed`, `refused`, `cancelled` or `interrupted`; `running` until then
  c.error AS error, -- what went wrong, for people; NULL if the call succeeded
  c.decision AS decision, -- who decided: `mode`, `rule`, `user`, `session` or `headless`
  c.approved AS approved, -- 1 or 0, NULL if no approval was needed
  c.reason AS reason, -- what the user said: why it was refused, or the answer to a question
  c.exit_code AS exit_code, -- exit code of a command
  round(c.duration_ms / 1000.0, 3) AS seconds,
  c.tokens AS tokens, -- tokens of the result as sent
  m.created_at AS created_at
FROM tool_call c JOIN message m ON m.id = c.message_id LEFT JOIN full_result f ON f.call = c.id;

CREATE VIEW requests AS -- one row for each request to a model
SELECT
  id AS id, -- ascending in time
  session_id AS session_id,
  interaction AS turn,
  step AS step, -- number of the request in the turn
  purpose AS purpose, -- `turn`, `condense`, `reflect` and others
  model AS model,
  input + cache_read + cache_write AS tokens_in, -- tokens sent, cached or not
  cache_read AS tokens_cached, -- of these, tokens read from the provider's cache
  cache_write AS tokens_written, -- of these, tokens written to that cache
  output AS tokens_out, -- tokens of the answer, without reasoning
  reasoning AS tokens_reasoning,
  cost AS cost, -- US dollars, NULL if unknown
  round(duration_ms / 1000.0, 3) AS seconds,
  created_at AS created_at,
  json_extract(extra, '$.parts') AS parts -- what it consisted of, in our tokens, as JSON; NULL if that is not stored
FROM model_request;

CREATE VIEW reductions AS -- one row for each change of bytes that were already sent
SELECT
  'R-' || number AS id,
  session_id AS session_id,
  interaction AS turn,
  step AS step, -- the request of the turn that it precedes
  how AS how, -- `begin`, `window`, `clear`, `condense`, `truncate`, `shrink` or `undo`
  opens AS opens, -- 1 if a new epoch begins
  before AS tokens_before, -- tokens of the whole request before
  after AS tokens_after, -- and after it
  detail AS detail, -- the reason
  undone AS undone, -- 1 if it was undone
  created_at AS created_at
FROM reduction;

CREATE VIEW strategies AS -- one row for each strategy of the playbook
SELECT
  'P-' || number AS id,
  content AS content,
  section AS section,
  kind AS kind, -- `strategy`, `pitfall`, `fact` or `preference`
  scope AS scope, -- `session`, `project` or `user`
  state AS state, -- `active`, `pinned`, `quarantined`, `disabled` or `deleted`
  trust AS trust, -- the source of its words: `user`, `reasoning`, `repository`, `tool` or `web`
  "when" AS applies_when, -- when it applies, in other words; only searched
  helpful AS helpful, -- exchanges in which it helped
  harmful AS harmful, -- exchanges in which it hurt or was refuted
  neutral AS neutral, -- verdicts that are no evidence
  uses AS uses, -- number of turns that showed it
  stale AS stale, -- the missing file or command that it names, "" for none
  session_id AS session_id, -- its session, for scope `session`
  project AS project, -- the key of its project, for scope `project`
  created_at AS created_at,
  updated_at AS updated_at,
  last_used AS last_used -- time of the last answer that cited it
FROM bullet;

CREATE VIEW shown_strategies AS -- one row for each strategy in the prompt of each turn
SELECT
  i.session_id AS session_id,
  i.number AS turn,
  s.value AS strategy, -- `strategies.id`
  EXISTS (SELECT 1 FROM json_each(i.cited) c WHERE c.value = s.value) AS cited -- 1 if the answer cited it
FROM interaction i, json_each(i.shown) s;

CREATE VIEW strategy_evidence AS -- one row for each piece of evidence on a strategy
SELECT
  'P-' || bullet AS strategy, -- `strategies.id`
  source AS source, -- the origin of the evidence
  quote AS quote, -- the quoted words
  session_id AS session_id,
  interaction AS turn,
  trust AS trust, -- whose words they are
  kind AS kind, -- `outcome`, `tag`, of 0.2.0 also `before` and `faded`, "" for other evidence
  effect AS effect, -- what a reflector saw: helped, hurt, refuted, ignored, irrelevant; "" for other evidence
  tag AS tag, -- `helpful`, `harmful` or `neutral`
  created_at AS created_at
FROM evidence;

CREATE VIEW strategy_changes AS -- one row for each change of the playbook
SELECT
  id AS id,
  session_id AS session_id,
  project AS project,
  author AS author, -- `user`, `import`, `rules` or the name of a model
  interaction AS turn, -- the turn it was learned from
  reason AS reason,
  ops AS operations, -- the operations as JSON
  undone AS undone, -- 1 if it was undone
  created_at AS created_at
FROM delta;

CREATE VIEW findings AS -- one row for each finding of reviews
SELECT
  'F-' || number AS id,
  project AS project,
  path AS path,
  line AS line,
  end_line AS end_line,
  kind AS kind,
  code_smell_type AS type,
  severity AS severity, -- `low`, `medium`, `high` or `critical`
  message AS message, -- the problem
  improvement AS improvement, -- how to fix it
  evidence AS evidence, -- the code quoted by the reviewer
  verified AS verified, -- 1 if it matches its file, 0 if not, NULL if not compared
  state AS state, -- `open`, `refuted`, `gone`, `fixed`, `regressed` or `dismissed`
  reason AS reason, -- the reason for its state
  fixes AS fixes, -- number of times it was fixed
  created_at AS created_at
FROM finding;

CREATE VIEW finding_changes AS -- one row for each change of a finding's state
SELECT
  'F-' || finding AS finding, -- `findings.id`
  before AS before,
  after AS after,
  cause AS cause,
  by AS by, -- who changed the state
  why AS why,
  at AS created_at
FROM finding_change;

CREATE VIEW reviews AS -- one row for each review
SELECT
  number AS id,
  project AS project,
  session_id AS session_id, -- the session of its requests
  label AS target, -- what was reviewed
  status AS status,
  loops AS loops, -- number of loops run
  total AS findings, -- number of reports, duplicates included
  created_at AS created_at
FROM review;

CREATE VIEW file_changes AS -- one row for each file that a turn changed
SELECT
  session_id AS session_id,
  interaction AS turn,
  path AS path,
  CASE WHEN before_mode = 0 THEN 'created' WHEN after_mode = 0 THEN 'deleted' ELSE 'changed' END
    AS change, -- `created`, `changed` or `deleted`
  changed_by AS changed_by, -- `tool`, `command` or `background command`; '' if it is not known
  undone_by > 0 AS undone -- 1 if it was undone with its turn
FROM file_change WHERE made_by = 0;
