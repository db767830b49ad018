-- Puts jobs into a queue.
--
-- KEYS     M, D, P, R, F, O, X, N, Q, S: see jobs.lua
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
local replies, fresh = {now}, {}
local before = first_due()
if request ~= '' and known(request) then
  for _ = 6, #ARGV, 4 do
    replies[#replies + 1] = 1
  end
  return replies
end
-- Reads each of the keys first: should one be somebody else's, this fails before anything is done.
redis.call('HEXISTS', P, '')
redis.call('ZSCORE', Q, '')
local ids = {}
for at = 6, #ARGV, 4 do
  ids[#ids + 1] = ARGV[at]
end
local there = redis.call('HMGET', M, unpack(ids))
for each, id in ipairs(ids) do
  local is_new = not fresh[id] and not there[each]
  replies[#replies + 1] = is_new and 1 or 0
  if is_new then
    fresh[id] = 4 * each + 2
    fresh[#fresh + 1] = id
  end
end
if #fresh == 0 then
  return replies
end
local length = most > 0 and redis.call('HLEN', M) or 0
if most > 0 and length + #fresh > most then
  return {now, -1, length}
end

local function put_all()
  -- Before the first write that needs no memory: on a server that is full nothing is put.
  may_add(R)
  if request ~= '' then
    once(request, now, tonumber(ARGV[3]))
  end
  local first = next_numbers(now, #fresh)
  local payloads, entries, ranked = {}, {}, {}
  local at_once = string.format('%.0f', ms)
  for each, id in ipairs(fresh) do
    local at = fresh[id]
    local due = ARGV[at + 1]
    if string.sub(due, 1, 1) == '+' then
      local delay = tonumber(string.sub(due, 2))
      -- Rounded up: no job comes before its time.
      due = delay > 0 and string.format('%.0f', math.ceil(now / 1000) + delay) or at_once
    end
    local rank = ARGV[at + 2] .. string.format('%016.0f', first + each - 1)
    payloads[2 * each - 1], payloads[2 * each] = id, ARGV[at + 3]
    entries[2 * each - 1], entries[2 * each] = id, entry('w', due, rank, 0, ARGV[5])
    ranked[2 * each - 1], ranked[2 * each] = due, rank .. id
  end
  -- One command for all jobs costs much less than one for each.
  redis.call('HSET', P, unpack(payloads))
  redis.call('HSET', M, unpack(entries))
  redis.call('ZADD', R, unpack(ranked))
end

if request ~= '' then
  all_or_nothing(request, put_all)
else
  put_all()
end
announce(now, before)
return replies
