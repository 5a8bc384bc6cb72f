import { homedir, hostname, networkInterfaces } from 'node:os'

/** The folder of whoever runs the program. */
export function homeFolder(): string {
  return homedir()
}

/** The name of the machine and the addresses by which others reach it. */
export function machineNames(): readonly string[] {
  const addresses = Object.values(networkInterfaces()).flatMap(each => each ?? [])
  const reachable = addresses.filter(({ internal, scopeid }) => !internal && !scopeid)
  return [hostname(), ...reachable.map(({ address }) => address)]
}
