"""A client of the lock that knows nothing but docs/protocol.md: scripts of its own, written from that page, over a bare socket.

What the page leaves open, or says wrongly, shows here: it stands in one queue with the library's processes.
"""

from __future__ import annotations

import uuid

from wire import Reply, Wire

LEASE_MS = 30_000
TOKEN_TTL_MS = 3_600_000

#: What several steps do (page: The queue). `up` is "move up from r": `free` when the new head is to be told, `me` is not told.
COMMON = """
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local ms = math.floor(us / 1000)
local function str(n) return string.format('%.0f', n) end
local function stamp(c) redis.call('HSET', S, c, str(ms)) end
local function tell(c, word) redis.pcall('PUBLISH', 'dlock_inbox:' .. c, word .. ';' .. L) end
local function keep() redis.call('PEXPIRE', Q, 60000); redis.call('PEXPIRE', S, 60000) end
local function silence(c)
  local seen = redis.call('HGET', S, c)
  if not seen or tonumber(seen) > ms then stamp(c); return 0 end
  return ms - tonumber(seen)
end
local function up(r, free, me)
  if r == 0 then redis.call('HDEL', S, 'barged') end
  local two = redis.call('ZRANGE', Q, 0, 1)
  for rank, c in ipairs(two) do
    if rank - 1 >= r then stamp(c) end
  end
  if two[1] then keep() end
  if two[1] and r == 0 and free and two[1] ~= me then tell(two[1], 'free') end
  if two[2] and two[2] ~= me then tell(two[2], 'next') end
end
local function drop(c) redis.call('HDEL', S, c); redis.call('ZREM', Q, c) end
local function join(c)
  stamp(c)
  local last = redis.call('ZREVRANGE', Q, 0, 0, 'WITHSCORES')[2]
  redis.call('ZADD', Q, 'NX', str(last and math.max(us, last + 1) or us), c)
  keep()
end
"""

ACQUIRE = """
local L, T, Q, S = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, lease, not_after, ttl, block, waits = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1'
COMMON
if us > tonumber(not_after) then return {2, us} end
local me = string.match(owner, '^(.*):%d+$')
local pttl = redis.call('PTTL', L)
if redis.call('HEXISTS', L, owner) == 1 then
  if pttl < tonumber(lease) then redis.call('PEXPIRE', L, lease) end
  return {0, us, redis.call('GET', T) - block + 1}
end
local function line_up()
  if not waits then return -1 end
  local rank = redis.call('ZRANK', Q, me)
  if not rank then
    join(me)
  else
    stamp(me)
    if rank > 0 then
      local front = redis.call('ZRANGE', Q, rank - 1, rank - 1)[1]
      if silence(front) >= 15000 then
        drop(front)
        if rank - 1 <= 1 then up(rank - 1, true, me) end
      end
    end
    keep()
  end
  return redis.call('ZRANK', Q, me)
end
if pttl ~= -2 then return {1, us, pttl, redis.call('HKEYS', L)[1], line_up()} end
local function head() return redis.call('ZRANGE', Q, 0, 0)[1] end
local first = head()
if first and first ~= me and (waits or tonumber(redis.call('HGET', S, 'barged') or '0') >= 2) then
  local held_up = true
  if silence(first) >= 2500 then
    drop(first)
    up(0, true, waits and me)
    first = head()
    held_up = waits and first and first ~= me
  end
  if held_up then return {3, us, line_up()} end
end
local last = redis.call('GET', T)
local token = last and math.max(us, last + 1) or us
if not last or redis.call('PTTL', T) ~= -1 then
  redis.call('SET', T, str(token + block - 1), 'PX', ttl)
else
  redis.call('SET', T, str(token + block - 1))
end
redis.call('HSET', L, owner, '1')
redis.call('PEXPIRE', L, lease)
if waits and redis.call('ZRANK', Q, me) then
  drop(me)
  up(0, false, me)
elseif first and first ~= me then
  redis.call('HINCRBY', S, 'barged', 1)
  keep()
end
return {0, us, token}
"""

RELEASE = """
local L, Q, S = KEYS[1], KEYS[2], KEYS[3]
COMMON
if redis.call('HEXISTS', L, ARGV[1]) == 0 then return {0} end
redis.call('DEL', L)
redis.pcall('PUBLISH', ARGV[2], '0')
local first = redis.call('ZRANGE', Q, 0, 0)[1]
if first then tell(first, 'free') end
if ARGV[3] == '0' then return {1, 1, -1} end
local me = string.match(ARGV[1], '^(.*):%d+$')
join(me)
return {1, 1, redis.call('ZRANK', Q, me)}
"""

CANCEL = """
local L, Q, S = KEYS[1], KEYS[2], KEYS[3]
COMMON
if us > tonumber(ARGV[2]) then return {2, us} end
local rank = redis.call('ZRANK', Q, ARGV[1])
if not rank then return {0, us, 0} end
drop(ARGV[1])
if rank <= 1 then up(rank, true, ARGV[1]) end
return {0, us, 1}
"""


class Stranger:
    """One process of another client: one place in each queue, and an inbox that is listened to from the start."""

    def __init__(self, port: int) -> None:
        bits = list(str(uuid.uuid4()))
        bits[14] = "8"
        self.client = "".join(bits)
        self._attempts = 0
        self._wire, self._inbox = Wire(port), Wire(port)
        inbox = f"dlock_inbox:{self.client}"
        assert self._inbox.command("SUBSCRIBE", inbox) == ["subscribe", inbox, 1]

    def close(self) -> None:
        self._wire.close()
        self._inbox.close()

    def _run(self, script: str, keys: list[str], *arguments: str) -> list[Reply]:
        reply = self._wire.command("EVAL", script.replace("COMMON", COMMON), str(len(keys)), *keys, *arguments)
        assert isinstance(reply, list)
        return reply

    def _not_after(self) -> str:
        time = self._wire.command("TIME")
        assert isinstance(time, list)
        seconds, us = time
        return str(int(str(seconds)) * 1_000_000 + int(str(us)) + 1_000_000)

    def acquire(self, lock: str, *, waits: bool = True, block: int = 1) -> list[Reply]:
        """One acquire, with a new owner; the reply as it is on the page."""
        self._attempts += 1
        keys = [lock, f"redisson_lock_token:{{{lock}}}", *queue_keys(lock)]
        limits = [str(LEASE_MS), self._not_after(), str(TOKEN_TTL_MS), str(block)]
        return self._run(ACQUIRE, keys, self.owner, *limits, "1" if waits else "0")

    @property
    def owner(self) -> str:
        """Of the last attempt."""
        return f"{self.client}:{self._attempts}"

    def release(self, lock: str, *, rejoin: bool = False) -> list[Reply]:
        """Ends the hold of the last attempt."""
        channel = f"redisson_lock__channel:{{{lock}}}"
        return self._run(RELEASE, [lock, *queue_keys(lock)], self.owner, channel, "1" if rejoin else "0")

    def cancel(self, lock: str) -> list[Reply]:
        """Leaves the queue."""
        return self._run(CANCEL, [lock, *queue_keys(lock)], self.client, self._not_after())

    def message(self) -> str:
        """The next message in the inbox."""
        reply = self._inbox.read()
        assert isinstance(reply, list)
        kind, _, text = reply
        assert kind == "message"
        return str(text)


def queue_keys(lock: str) -> list[str]:
    """Q and S."""
    return [f"dlock_queue:{{{lock}}}", f"dlock_seen:{{{lock}}}"]
