  -- Sliding counter: `u` is the start of the last window that tokens were taken of, a multiple of its length, `v` how many were taken
  -- in the one before, `w` in this one. The one before weighs as much as of it lies within one length before the present.
  --
  -- Its numbers: the most tokens, and the length of a window in us. The key holds `start:before:taken:written`, and is gone
  -- when both windows are over.
  if kind == 'c' then
    local start, before, taken = now - now % second, 0, 0
    if text then
      local begun, previous, last, written = string.match(text, '^(%d+):(%d+):(%d+):(%d+)$')
      if not begun then
        return redis.error_reply('WRONGTYPE the key holds no sliding counter')
      end
      begun, written = math.min(tonumber(begun), LARGEST), math.min(tonumber(written), LARGEST)
      previous, last = math.min(tonumber(previous), LARGEST), math.min(tonumber(last), LARGEST)
      if written > now then
        -- The clock stepped back: the windows are as far ahead as they were.
        begun, moved = math.max(0, begun - ((written - written % second) - start)), true
      end
      begun = math.min(begun, now + LONGEST)
      if begun + second > start then
        start, before, taken = math.max(begun, start), previous, last
      elseif begun + 2 * second > start then
        before = last
      end
    end
    u, v, w = start, before, taken
    local room = first - taken - asked
    if room < 0 then
      -- Not in this window.
      start, before, room = start + second, taken, first - asked
    end
    due = math.max(start, now)
    if math.ceil(before * (start + second - due) / second) > room then
      due = math.max(due, start + second - math.floor(room * second / before))
      for _ = 1, 4 do
        if math.ceil(before * (start + second - due) / second) > room then
          due = due + 1
        end
      end
    end
    due = math.min(due, LARGEST)
  end
