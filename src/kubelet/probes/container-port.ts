import type { Container } from '#/api/generated/core/v1.ts'

/** Resolves a port number or a named container port. Throws if it does not exist. */
export function containerPort(port: number | string, { ports = [] }: Container): number {
  const number = typeof port === 'number' ? port : ports.find(({ name }) => name === port)?.containerPort
  if (number === undefined) throw new Error(`port ${JSON.stringify(port)} not found`)
  if (number > 0 && number < 65_536) return number
  throw new Error(`invalid port number: ${number}`)
}
