/**
 * Message bytes in short notation: `0a(08 01) 12"text"` is field 1 with a message and field 2 with a string.
 * Content in parentheses or quotes gets a length prefix; everything else is hexadecimal.
 */
export function wire(notation: string): Uint8Array {
  const open: number[][] = [[]]
  for (const [token] of notation.matchAll(/"[^"]*"|[()]|[0-9a-f]{2}/g)) {
    const here = open.at(-1)!
    if (token === '(') open.push([])
    else if (token === ')') open.at(-2)!.push(...withLength(open.pop()!))
    else if (token.startsWith('"')) here.push(...withLength([...Buffer.from(token.slice(1, -1))]))
    else here.push(Number.parseInt(token, 16))
  }
  return Uint8Array.from(open.flat())
}

/** An object with its envelope. */
export function wireObject(apiVersion: string, kind: string, message: string): Uint8Array {
  return wire(`6b 38 73 00 0a(0a"${apiVersion}" 12"${kind}") 12(${message}) 1a"" 22""`)
}

function withLength(bytes: readonly number[]): number[] {
  const { length } = bytes
  return length < 0x80 ? [length, ...bytes] : [(length & 0x7f) | 0x80, length >> 7, ...bytes]
}
