  -- Fixed windows: `u` is the start of the last window that tokens were taken of, `v` how many. A window that lies ahead is one of
  -- which tokens are reserved; all before it is taken.
  --
  -- Its numbers: the most tokens of a window, and its length in us. The letter says where windows begin: `w` with the first
  -- request, `a` at the multiples of their length. The key holds `start:taken:written`, and is gone when the window is over.
  if kind == 'w' or kind == 'a' then
    local start, taken = now, 0
    if kind == 'a' then
      start = now - now % second
    end
    if text then
      local begun, before, written = string.match(text, '^(%d+):(%d+):(%d+)$')
      if not begun then
        return redis.error_reply('WRONGTYPE the key holds no fixed window')
      end
      begun = math.min(tonumber(begun), LARGEST)
      before, written = math.min(tonumber(before), LARGEST), math.min(tonumber(written), LARGEST)
      if written > now then
        -- The clock stepped back: the window is as far ahead as it was.
        local back = written - now
        if kind == 'a' then
          back = (written - written % second) - start
        end
        begun, moved = math.max(0, begun - back), true
      end
      begun = math.min(begun, now + LONGEST)
      if begun + second > now then
        start, taken = begun, before
      end
    end
    u, v = start, taken
    due = start
    if taken + asked > first then
      due = start + second
    end
  end
