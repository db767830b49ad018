-- Puts jobs into a queue.
--
-- KEYS     M, D, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2]  id of the request, empty for one that is not repeated, and ARGV[3] not after, server time in us: see once.lua
-- ARGV[4]  how many jobs the queue may hold, dead ones among them; 0: any number
-- ARGV[5]  how often each of them is delivered at most
-- then for each job four more: its id, when it is due, four digits of priority (see jobs.lua), its payload. When it is due: `+` and in
-- how many ms, or the server ms
--
-- Reply    {now us, for each job 1: put, or 0: its id was there}
--          {now us, -1, length}  refused, because the queue would hold more than it may; nothing was put
--          {now us}              too late, nothing done
--
-- A request that was carried out before is answered with 1 for each job: which of the ids were there is forgotten.
local now = clock()
local ms = math.floor(now / 1000)
if now > tonumber(ARGV[3]) then
  return {now}
end
local request, most = ARGV[2], tonumber(ARGV[4])
local function remembered()
  return request ~= '' and known(request)
end
local function all_put()
  local replies = {now}
  for _ = 6, #ARGV, 4 do
    replies[#replies + 1] = 1
  end
  return replies
end
-- Reads first: should a key be somebody else's, this fails before anything is done.
local head = redis.call('ZRANGE', Q, 0, 0)[1]
local before = head and first_due()
local ids = {}
for at = 6, #ARGV, 4 do
  ids[#ids + 1] = ARGV[at]
end
local there = redis.call('HMGET', M, unpack(ids))
-- Those that are new, and where the rest of each stands in ARGV.
local replies, fresh, fields = {now}, {}, {}
for each, id in ipairs(ids) do
  local is_new = not fields[id] and not there[each]
  replies[each + 1] = is_new and 1 or 0
  if is_new then
    fresh[#fresh + 1] = id
    fields[id] = 4 * each + 2
  end
end
-- Whether a request was carried out before matters at once only where it would not be now.
if #fresh < #ids and remembered() then
  return all_put()
end
if #fresh == 0 then
  return replies
end
local length = most > 0 and redis.call('HLEN', M) or 0
if most > 0 and length + #fresh > most then
  if remembered() then
    return all_put()
  end
  return {now, -1, length}
end

-- False when the request was carried out before.
local function put_all()
  -- Before the first write that needs no memory: on a server that is full nothing is put.
  may_add(R)
  if request ~= '' and not once(request, now, tonumber(ARGV[3])) then
    return false
  end
  local first = next_numbers(now, #fresh)
  local entries, ranked = {}, {}
  local counts, alike = '0 ' .. ARGV[5], {}
  for each, id in ipairs(fresh) do
    local at = fields[id]
    local due = ARGV[at + 1]
    if due == '+0' then
      due = ms
    elseif string.sub(due, 1, 1) == '+' then
      -- Rounded up: no job comes before its time.
      due = math.ceil(now / 1000) + tonumber(due)
    else
      due = tonumber(due)
    end
    local urgency = ARGV[at + 2]
    local rank = string.format('%s%02x%014x', urgency, due % 256, first + each - 1)
    -- Jobs of one request are mostly alike.
    if due ~= alike.due or urgency ~= alike.urgency then
      alike = {due = due, urgency = urgency, at = string.format('%d', due), score = string.format('%d', waiting_score(rank, due, ms))}
    end
    entries[2 * each - 1], entries[2 * each] = id, entry('w', alike.at, rank, counts, '', ARGV[at + 3])
    ranked[2 * each - 1], ranked[2 * each] = alike.score, rank .. id
  end
  -- One command for all jobs costs much less than one for each.
  redis.call('HSET', M, unpack(entries))
  redis.call('ZADD', R, unpack(ranked))
  return true
end

local put_now
if request ~= '' then
  put_now = all_or_nothing(request, put_all)
else
  put_now = put_all()
end
if not put_now then
  return all_put()
end
announce(now, head, before)
return replies
