-- The holds of a read-write lock. Stands behind wants.lua, in front of each script of read-write locks.
--
-- KEYS[1]  L  HASH: `mode` -> `read` or `write`, and a field for each hold -> how often (RReadWriteLock): <owner> for a reader,
--             <owner>:write for a writer
-- K        STRING {<name>}:<field>:rwlock_timeout:<n>: ends with the lease of that hold, and L with the last of them. A hold of
--          ours has one, which holds its token. One of Redisson's that was entered n times has n of them; its writers have none
--          and last as long as L
-- Q, S     see queue.lua and wants.lua. A reader wants 1, a writer ALL: more than readers come
local ALL = 1000000000
local NO_LOCK = 'WRONGTYPE the key holds no read-write lock'
-- How many fields one script examines, and of one field how many keys.
local MOST_FIELDS, MOST_ENTRIES = 500, 100
-- So many that of a writer that is first, which may wait for nothing but holds that are over.
local MOST_OF_A_CROWD = 2000
-- The same for a reader's release for which nobody waits: its cost must not grow with the number of readers.
local FEW_FIELDS = 5

-- Who holds it. Nil: nobody; false: the key holds something else.
local function mode_of()
  local mode = redis.call('HGET', L, 'mode')
  if mode then
    return (mode == 'read' or mode == 'write') and mode
  end
  if redis.call('EXISTS', L) == 1 then
    return false
  end
  return nil
end

local function available_in(mode)
  return mode == nil and ALL or mode == 'read' and ALL - 1 or 0
end

local function writes(field)
  return string.sub(field, -6) == ':write'
end

-- Whether it is a hold of a libdlock client, whose ids are UUIDs of version 8.
local function is_ours(field)
  return string.sub(field, 15, 15) == '8' and string.sub(field, 37, 37) == ':'
end

-- What the keys that end with a hold begin with, and how many there are at most: each ends in its number.
local function timeouts_of(field, count)
  local name = string.find(L, '{', 1, true) and L or '{' .. L .. '}'
  local entries = string.match(count, '^%d+$') and tonumber(count) or 1
  return name .. ':' .. field .. ':rwlock_timeout:', math.min(entries, MOST_ENTRIES)
end

-- For how many ms a hold lasts yet; 0 when it is over.
local function left_of(field, count)
  local longest = 0
  if writes(field) and not is_ours(field) then
    longest = redis.call('PTTL', L)
    return longest == -1 and math.huge or longest
  end
  local timeout, entries = timeouts_of(field, count)
  for n = 1, entries do
    local left = redis.call('PTTL', timeout .. n)
    longest = math.max(longest, left == -1 and math.huge or left)
  end
  return longest
end

-- The writer and for how many ms it lasts yet; 0 when there is none any more.
local function writer()
  if redis.call('HLEN', L) > MOST_FIELDS then
    return '', math.huge
  end
  local fields = redis.call('HGETALL', L)
  for at = 1, #fields, 2 do
    if writes(fields[at]) then
      return fields[at], left_of(fields[at], fields[at + 1])
    end
  end
  return '', 0
end

-- For how many ms the longest of all holds lasts yet, 0 when none does; nil when that is not known, because there are too many or
-- one has no end. Holds of ours that are over leave the hash. `most`: how many fields are examined, MOST_FIELDS if not given.
local function survey(most)
  if redis.call('HLEN', L) > (most or MOST_FIELDS) then
    return nil
  end
  local fields, longest = redis.call('HGETALL', L), 0
  for at = 1, #fields, 2 do
    local field = fields[at]
    if field ~= 'mode' then
      local left = left_of(field, fields[at + 1])
      if left <= 0 and is_ours(field) then
        redis.call('HDEL', L, field)
      end
      longest = math.max(longest, left)
    end
  end
  if longest < math.huge then
    return longest
  end
  return nil
end

-- L lives for a lease at least. One that has no end keeps none.
local function keep_for(lease)
  local left = redis.call('PTTL', L)
  if left ~= -1 and left < lease then
    redis.call('PEXPIRE', L, lease)
  end
end

-- The writer has left the hash: the lock is its readers' from now on, or free. Redisson's waiters are told: by `1` those that sleep,
-- and by `0` one that is about to, which misses `1`. The mode then, and whether the message was let through.
local function after_writer(channel)
  local longest, mode = survey(), 'read'
  if longest == 0 then
    redis.call('DEL', L)
    mode = nil
  else
    redis.call('HSET', L, 'mode', 'read')
    if longest then
      redis.call('PEXPIRE', L, longest)
    end
  end
  local receivers = redis.pcall(PUBLISH, channel, '1')
  local told = type(receivers) ~= 'table'
  if told and receivers > 0 then
    redis.pcall(PUBLISH, channel, '0')
  end
  return mode, told
end

-- A reader has left the hash, or readers may be over: the lock is free if no hold lasts, and else lives as long as the longest.
-- Whether it is free, and whether Redisson's waiters could be told.
local function after_reader(channel, most)
  local longest = survey(most)
  if longest == 0 then
    redis.call('DEL', L)
    return true, type(redis.pcall(PUBLISH, channel, '0')) ~= 'table'
  elseif longest then
    redis.call('PEXPIRE', L, longest)
  end
  return false, true
end

-- Whether there are more readers than a release examines: those that are over, as when many processes were killed, are found by
-- the acquire of a writer that is first.
local function is_crowded(mode)
  return mode == 'read' and redis.call('HLEN', L) > FEW_FIELDS
end

-- What is said of the holders to somebody who waits: for how many ms they last, -1 without end; and who they are, the writer (of a
-- foreign one the first 256 bytes) or how many readers.
local function in_the_way(mode)
  if mode == 'read' then
    return redis.call('PTTL', L), redis.call('HLEN', L) - 1
  end
  local field, left = writer()
  return left == math.huge and -1 or left, string.sub(field, 1, 256)
end

