// The key of a client's address, by which it is limited where no key is given.

import { isIPv4, isIPv6 } from "node:net";

/**
 * The key of an address: an IPv4 address as it is, also of one that IPv6 maps or NAT64 translates; of an IPv6 address the first 64
 * bits, because a client usually has a network of that size. Anything else is its own key. Undefined, for no address, shares the
 * limiter's own tokens.
 */
export function addressKey(address: string | undefined): string | undefined {
  if (address === undefined || address === "") return undefined;
  const [plain = ""] = address.split("%", 1);
  if (!isIPv6(plain)) return address;
  const groups = groupsOf(plain);
  if (BEFORE_IPV4.some((prefix) => prefix.every((group, at) => group === groups[at])))
    return groups.slice(6).flatMap(bytesOf).join(".");
  const network = groups.slice(0, 4);
  while (network.at(-1) === 0) network.pop();
  return `${network.map((group) => group.toString(16)).join(":")}::`;
}

/** The groups before an IPv4 address that is mapped, or that NAT64 has translated (RFC 6052). */
const BEFORE_IPV4 = [
  [0, 0, 0, 0, 0, 0xffff],
  [0x64, 0xff9b, 0, 0, 0, 0],
];

/** The eight groups of 16 bits. */
function groupsOf(address: string): number[] {
  const [before = [], behind] = address.split("::").map(numbers);
  if (behind === undefined) return before;
  return [...before, ...Array.from({ length: 8 - before.length - behind.length }, () => 0), ...behind];
}

/** Those of one side of `::`. The last may be an IPv4 address, which stands for two. */
function numbers(side: string): number[] {
  if (side === "") return [];
  return side.split(":").flatMap((group) => {
    if (!isIPv4(group)) return [parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function bytesOf(group: number): number[] {
  return [group >> 8, group & 255];
}
