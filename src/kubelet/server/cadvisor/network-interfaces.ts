export interface InterfaceUsage {
  readonly name: string
  readonly receive: DirectionUsage
  readonly transmit: DirectionUsage
}

export interface DirectionUsage {
  readonly bytes: number
  readonly packets: number
  readonly errors: number
  readonly dropped: number
}

/** Devices of which the other end is counted, or that are not a network. */
const ignored = /^(lo|veth|docker|nerdctl)/

/** The interfaces of `/proc/PID/net/dev`, without loopback and those of containers. */
export function networkInterfaces(text: string): readonly InterfaceUsage[] {
  return [...text.matchAll(/^\s*([^\s:]+):\s*([\d ]+)$/gm)].flatMap(([, name = '', values = '']) => {
    const figures = values.trim().split(/ +/).map(Number)
    const direction = (first: number): DirectionUsage => {
      const [bytes = 0, packets = 0, errors = 0, dropped = 0] = figures.slice(first)
      return { bytes, packets, errors, dropped }
    }
    return ignored.test(name) ? [] : [{ name, receive: direction(0), transmit: direction(8) }]
  })
}
