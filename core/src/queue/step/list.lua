-- Lists jobs without changing them.
--
-- KEYS     M, D, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2]  w: those that wait, in their order; d: dead ones, in the order in which they died
-- ARGV[3]  how many at most. Ends also with the job that makes it 1 MiB of payload
--
-- Reply    for each {id, what M has of it, since when it is dead in ms or 0}
local waiting, most = ARGV[2] == 'w', tonumber(ARGV[3])

-- The first that wait, in the order that they have once a take has found those that have become due.
local function first_waiting()
  local ms = math.floor(clock() / 1000)
  local due = redis.call('ZRANGEBYSCORE', R, 0, ms, 'WITHSCORES', 'LIMIT', 0, REMOVED)
  local range = redis.call('ZRANGE', R, 0, most - 1 + #due / 2, 'WITHSCORES')
  if #due == 0 then
    return range
  end
  local scores, members = {}, {}
  local function add(from, score_of)
    for at = 1, #from, 2 do
      local member = from[at]
      if not scores[member] then
        members[#members + 1], scores[member] = member, score_of(member, tonumber(from[at + 1]))
      end
    end
  end
  add(due, precedence)
  add(range, function(_, given)
    return given
  end)
  table.sort(members, function(one, other)
    local first, second = scores[one], scores[other]
    return first < second or first == second and one < other
  end)
  local sorted = {}
  for at = 1, math.min(#members, most) do
    sorted[2 * at - 1], sorted[2 * at] = members[at], scores[members[at]]
  end
  return sorted
end

local range = waiting and first_waiting() or redis.call('ZRANGE', X, 0, most - 1, 'WITHSCORES')
local jobs, bytes = {}, 0
for at = 1, #range, 2 do
  local id = waiting and string.sub(range[at], RANK + 1) or range[at]
  local text = redis.call('HGET', M, id)
  if text then
    jobs[#jobs + 1] = {id, text, waiting and 0 or tonumber(range[at + 1])}
    bytes = bytes + #parse(text).payload
    if bytes >= 1048576 then
      break
    end
  end
end
return jobs
