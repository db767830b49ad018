  -- GCRA: `u` and `v` are the theoretical arrival time (TAT), whole us and parts of 1/unit us.
  --
  -- Its numbers: the unit; the cost's us and parts; the same of the horizon, up to how far ahead the TAT may lie for what may be
  -- used now. The key is gone when the TAT has come: no key is a full bucket. It holds `us`, `us+part/unit`, or when the TAT lies
  -- beyond the horizon, because tokens are reserved, `us+<part><at>/<unit>0000000000000000` with the time of writing, 16 digits.
  if kind == 'g' then
    local unit, horizon_part = first, tonumber(ARGV[i * 6 + 2])
    local horizon_us = tonumber(ARGV[i * 6 + 1])
    local top_us, top_part = now + horizon_us, horizon_part
    local us, part, written = 0, 0, nil
    if text then
      local whole, parts, in_unit = string.match(text, '^(%d+)%+(%d+)/(%d+)$')
      us = tonumber(whole or string.match(text, '^%d+$'))
      if not us then
        return redis.error_reply('WRONGTYPE the key holds no theoretical arrival time')
      end
      if whole and #parts > 16 and #in_unit > 16 and string.sub(in_unit, -16) == '0000000000000000' then
        written = tonumber(string.sub(parts, -16))
        parts, in_unit = string.sub(parts, 1, -17), string.sub(in_unit, 1, -17)
      end
      part = tonumber(parts or 0)
      -- A part in another unit is rounded up, so that a change of the rate never grants more.
      if part > 0 and (tonumber(in_unit) ~= unit or part >= unit) then
        us, part = us + 1, 0
      end
    end
    if written and written > now then
      -- The clock stepped back: reservations are as far ahead as they were.
      us, moved = us - (written - now), true
      if us < 0 then
        us, part = 0, 0
      end
    elseif not written and (us > top_us or (us == top_us and part > top_part)) then
      -- No reservations: it is what a step of the clock, or another rate, has left there, and is pulled back.
      us, part, moved = top_us, top_part, true
    end
    local most = top_us + LONGEST
    if us > most or (us == most and part > top_part) then
      us, part, moved = most, top_part, true
    end
    if us < now then
      us, part = now, 0
    end
    u, v = us, part
    local due_part = part + tonumber(ARGV[i * 6]) - horizon_part
    due = us + second - horizon_us
    if due_part >= unit then
      due, due_part = due + 1, due_part - unit
    end
    if due_part > 0 then
      due = due + 1
    end
  end
