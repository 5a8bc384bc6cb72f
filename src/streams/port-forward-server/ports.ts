/** Parses a port number. */
export function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= 65_535 ? port : undefined
}

/** Ports in the request, or an error message. */
export function readPorts(query: URLSearchParams): readonly number[] | string {
  const values = query.getAll('port')
  if (values.length === 0) return 'query parameter "port" is required'
  const ports: number[] = []
  for (const value of values) {
    if (value === '') return 'query parameter "port" cannot be empty'
    for (const text of value.split(',')) {
      const port = parsePort(text)
      if (port === undefined) {
        return Number(text) === 0 && text !== ''
          ? `port ${JSON.stringify(value)} must be > 0`
          : `unable to parse ${JSON.stringify(value)} as a port`
      }
      ports.push(port)
    }
  }
  return ports.length > portsMax ? `at most ${portsMax} ports can be forwarded at once` : ports
}

/** Each port uses two channels, and channel numbers are one byte. */
const portsMax = 127
