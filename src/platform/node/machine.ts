import { mkdtemp } from 'node:fs/promises'
import { homedir, hostname, networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'

/** Home folder of the user that runs the program. */
export function homeFolder(): string {
  return homedir()
}

/** Host name and external IP addresses of the machine. */
export function machineNames(): readonly string[] {
  const addresses = Object.values(networkInterfaces()).flatMap(each => each ?? [])
  const reachable = addresses.filter(({ internal, scopeid }) => !internal && !scopeid)
  return [hostname(), ...reachable.map(({ address }) => address)]
}

/** A new, empty folder, accessible by this user only, in the system's temporary folder. */
export function makeTemporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'k8ts-'))
}

/** Loads a module that is not part of the program. */
export function importModule(specifier: string): Promise<unknown> {
  return import(specifier)
}

export function environmentVariables(): Readonly<Record<string, string | undefined>> {
  return process.env
}

/** Only Linux machines can be nodes. */
export function isLinux(): boolean {
  return process.platform === 'linux'
}

export function processId(): number {
  return process.pid
}
