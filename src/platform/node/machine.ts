import { mkdtemp } from 'node:fs/promises'
import { homedir, hostname, networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'

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

/** A new, empty folder that nobody else may look into, where the machine keeps what is not to last. */
export function makeTemporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'k8ts-'))
}

/** Loads a module that is no part of the program. */
export function importModule(specifier: string): Promise<unknown> {
  return import(specifier)
}

/** The variables that the program was started with. */
export function environmentVariables(): Readonly<Record<string, string | undefined>> {
  return process.env
}

/** Whether the machine can be a node at all. */
export function isLinux(): boolean {
  return process.platform === 'linux'
}

/** The number of this process. */
export function processId(): number {
  return process.pid
}
