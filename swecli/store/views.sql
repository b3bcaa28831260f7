-- The views of `swecli sql` and `/sql`: a stable interface that does not change with the tables. Each view and column
-- has a comment, from which scripts/reference generates docs/reference/sql.md.
CREATE VIEW sessions AS -- one row for each session
SELECT
  id AS id, -- its id, which `swecli -r` takes
  title AS title, -- its title, "" without one
  directory AS directory, -- where it ran
  project AS project, -- the repository, or the folder, whose strategies it shares
  model AS model, -- its last model
  parent_id AS parent_id, -- the session that it was forked from, or NULL
  interactions AS turns, -- how many
  messages AS messages, -- how many
  cost AS cost, -- US dollars, NULL once any price is unknown
  first_query AS first_query, -- how it began
  directory = '' AND parent_id IS NOT NULL AS undone, -- 1 where it only holds turns of its parent that were undone
  created_at AS created_at,
  updated_at AS updated_at
FROM session;

CREATE VIEW turns AS -- one row for each turn: a query until its answer is done
SELECT
  i.session_id AS session_id,
  i.number AS turn, -- its number in the session
  i.status AS status, -- how it ended, `running` before
  (SELECT content FROM message m WHERE m.session_id = i.session_id AND m.interaction = i.number ORDER BY m.id LIMIT 1)
    AS query, -- what the user typed
  r.requests AS requests, -- requests to a model, all purposes
  r.tokens_in AS tokens_in, -- all that was sent, cached or not
  r.tokens_cached AS tokens_cached, -- of it, what the provider read from its cache
  r.tokens_out AS tokens_out, -- answers, without reasoning
  r.cost AS cost, -- US dollars, NULL where a price is unknown
  i.mark AS mark, -- `good` or `bad`, where the user marked it
  i.why AS why, -- the reason for the mark
  p.good AS good, -- 1 it went well, 0 it did not, NULL nothing shows it
  p.signal AS signal, -- what shows it
  i.window_spec AS window, -- the setting of the window
  i.window_start AS window_start, -- the first turn in it
  i.started_at AS started_at,
  i.finished_at AS finished_at,
  round((julianday(i.finished_at) - julianday(i.started_at)) * 86400, 1) AS seconds -- from start to finish
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
  id AS id, -- counts up with time
  session_id AS session_id,
  interaction AS turn,
  role AS role, -- `user` or `assistant`
  content AS content, -- as typed or answered
  sent AS sent, -- what the model got in its place, NULL for the same
  reasoning AS reasoning, -- the model's, where it gave any
  tokens AS tokens, -- of what was sent, estimated in most turns; NULL where not counted
  status AS status, -- `complete`, `partial` (interrupted) or `steer` (put into a running turn)
  created_at AS created_at
FROM message;

CREATE VIEW calls AS -- one row for each tool call
SELECT
  c.id AS id, -- counts up with time
  c.session_id AS session_id,
  m.interaction AS turn,
  c.message_id AS message_id, -- the message that made it
  c.name AS tool,
  c.parameters AS parameters, -- its arguments, JSON
  json_extract(c.parameters, '$.path') AS path, -- the argument `path`
  json_extract(c.parameters, '$.command') AS command, -- the argument `command`
  coalesce(f.text, c.result) AS result, -- the whole, also where the model got less
  c.error AS error, -- why it failed, NULL where it did not
  c.decision AS decision, -- which rule or answer allowed or refused it
  c.approved AS approved, -- 1 or 0, NULL where nobody was asked
  c.reason AS reason, -- the user's words for a refusal
  c.exit_code AS exit_code, -- of a command
  round(c.duration_ms / 1000.0, 3) AS seconds,
  c.tokens AS tokens, -- of the result as it was sent
  m.created_at AS created_at
FROM tool_call c JOIN message m ON m.id = c.message_id LEFT JOIN full_result f ON f.call = c.id;

CREATE VIEW requests AS -- one row for each request to a model
SELECT
  id AS id, -- counts up with time
  session_id AS session_id,
  interaction AS turn,
  step AS step, -- its number in the turn
  purpose AS purpose, -- `turn`, `condense`, `reflect` and others
  model AS model,
  input + cache_read + cache_write AS tokens_in, -- all that was sent
  cache_read AS tokens_cached, -- of it, what was read from the provider's cache
  cache_write AS tokens_written, -- of it, what was written to that cache
  output AS tokens_out, -- the answer, without reasoning
  reasoning AS tokens_reasoning,
  cost AS cost, -- US dollars, NULL where unknown
  round(duration_ms / 1000.0, 3) AS seconds,
  created_at AS created_at
FROM model_request;

CREATE VIEW reductions AS -- one row for each change of what was already sent
SELECT
  'R-' || number AS id,
  session_id AS session_id,
  interaction AS turn,
  step AS step, -- before which request of the turn
  how AS how, -- `begin`, `window`, `clear`, `condense`, `truncate`, `shrink` or `undo`
  opens AS opens, -- 1 where a new epoch begins
  before AS tokens_before, -- of the whole request
  after AS tokens_after,
  detail AS detail, -- why
  undone AS undone, -- 1 where it was taken back
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
  trust AS trust, -- whose words it rests on: `user`, `reasoning`, `repository`, `tool` or `web`
  "when" AS applies_when, -- the user's words for when to use it
  helpful AS helpful, -- how often it was
  harmful AS harmful, -- how often it was
  neutral AS neutral, -- how often it was neither
  uses AS uses, -- turns that count for its score
  stale AS stale, -- what it names that is gone
  session_id AS session_id, -- where it belongs, with the scope `session`
  project AS project, -- where it belongs, with the scope `project`
  created_at AS created_at,
  updated_at AS updated_at,
  last_used AS last_used -- when an answer last cited it
FROM bullet;

CREATE VIEW shown_strategies AS -- one row for each strategy in the prompt of each turn
SELECT
  i.session_id AS session_id,
  i.number AS turn,
  s.value AS strategy, -- its id
  EXISTS (SELECT 1 FROM json_each(i.cited) c WHERE c.value = s.value) AS cited -- 1 where the answer named it
FROM interaction i, json_each(i.shown) s;

CREATE VIEW strategy_evidence AS -- one row for each reason to believe in a strategy or not
SELECT
  'P-' || bullet AS strategy, -- its id
  source AS source, -- where it comes from
  quote AS quote, -- the words it rests on
  session_id AS session_id,
  interaction AS turn,
  trust AS trust, -- whose words
  kind AS kind, -- `outcome` or `tag` for a verdict on a use
  tag AS tag, -- `helpful`, `harmful` or `neutral`
  created_at AS created_at
FROM evidence;

CREATE VIEW strategy_changes AS -- one row for each change of the playbook
SELECT
  id AS id,
  session_id AS session_id,
  project AS project,
  author AS author, -- who made it
  interaction AS turn, -- the turn it was learned from
  reason AS reason,
  ops AS operations, -- what it did, JSON
  undone AS undone, -- 1 where it was taken back
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
  message AS message, -- what is wrong
  improvement AS improvement, -- what to do
  evidence AS evidence, -- the code it rests on
  verified AS verified, -- 1 confirmed, 0 not, NULL not checked
  state AS state, -- `open`, `refuted`, `gone`, `fixed`, `regressed` or `dismissed`
  reason AS reason, -- why it was dismissed
  fixes AS fixes, -- how often it was fixed
  created_at AS created_at
FROM finding;

CREATE VIEW finding_changes AS -- one row for each change of a finding's state
SELECT
  'F-' || finding AS finding, -- its id
  before AS before,
  after AS after,
  cause AS cause,
  by AS by, -- who changed it
  why AS why,
  at AS created_at
FROM finding_change;

CREATE VIEW reviews AS -- one row for each review
SELECT
  number AS id,
  project AS project,
  session_id AS session_id, -- the session of its turns
  label AS target, -- what was reviewed
  status AS status,
  loops AS loops, -- how many were run
  total AS findings, -- how many
  created_at AS created_at
FROM review;

CREATE VIEW file_changes AS -- one row for each file that a turn changed
SELECT
  session_id AS session_id,
  interaction AS turn,
  path AS path,
  CASE WHEN before_mode = 0 THEN 'created' WHEN after_mode = 0 THEN 'deleted' ELSE 'changed' END
    AS change, -- `created`, `changed` or `deleted`
  undone_by > 0 AS undone -- 1 where it was taken back
FROM file_change WHERE made_by = 0;
