-- Makes `us` and `part` the TAT that counts, no sooner than now; `moved`: a step of the clock, or another rate, has moved it.
local moved = false
if at and at > now then
  -- The clock stepped back: reservations are as far ahead as they were.
  us, moved = us - (at - now), true
  if us < 0 then
    us, part = 0, 0
  end
elseif not at and (us > top_us or (us == top_us and part > top_part)) then
  -- No reservations: it is what a step of the clock, or another rate, has left there, and is pulled back.
  us, part, moved = top_us, top_part, true
end
local most = top_us + 3155760000000000
if us > most or (us == most and part > top_part) then
  us, part, moved = most, top_part, true
end
if us < now then
  us, part = now, 0
end
