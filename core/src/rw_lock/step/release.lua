-- Ends a hold of a read-write lock, and wakes those whose turn it is by that.
--
-- KEYS     L, K, Q, S: see holds.lua and queue.lua; K is that of the hold
-- ARGV[1]  field of the hold: <owner>, or <owner>:write
-- ARGV[2]  Redisson's channel of the lock; gets `1` and `0` when a writer has gone, `0` when the last reader has
--
-- Reply    {1, told}  ended; told 0: this user may not publish, so waiters come by their timers
--          {0}        not held
--
-- A writer that reads as well leaves the lock to readers, and those that wait are told. Nothing that comes after the ending may make
-- an error of a release that is done.
local field = ARGV[1]
local mode = mode_of()
if mode == false then
  return redis.error_reply(NO_LOCK)
end
local held = mode and redis.call('HDEL', L, field) == 1
redis.call('DEL', KEYS[2])
if not held then
  return {0}
end
local told, made_room = true, false
if writes(field) then
  mode, told = after_writer(ARGV[2])
  made_room = true
elseif mode == 'read' then
  local waiting = redis.pcall('ZCARD', Q)
  made_room, told = after_reader(ARGV[2], (type(waiting) == 'table' or waiting == 0) and FEW_FIELDS or MOST_FIELDS)
  mode = not made_room and mode or nil
end
if made_room and redis.pcall('ZRANGE', Q, 0, 0)[1] then
  pcall(function()
    wanting(ALL).wake(queue_at(clock()), available_in(mode), 0)
  end)
end
return {1, told and 1 or 0}
