import { normalize, resolve } from 'node:path'
import { quote } from '#/api/text/quote.ts'
import type { Machine } from '../factory.ts'
import { findExecutable } from '../plugins.ts'
import type { Preference } from './preference.ts'

/** Which credential plugins of kubeconfigs may run. */
export type PluginPolicy = Pick<Preference, 'credentialPluginPolicy' | 'credentialPluginAllowlist'>

/** Throws Error if policy and allowlist contradict each other. */
export function validatePluginPolicy(policy: PluginPolicy): void {
  const { credentialPluginPolicy: type = '', credentialPluginAllowlist: allowlist } = policy
  if (type === 'Allowlist') return validateAllowlist(allowlist)
  if (type !== '' && type !== 'AllowAll' && type !== 'DenyAll') {
    throw new Error(`unknown plugin policy: ${quote(type)}`)
  }
  if (allowlist !== undefined) {
    const problem = `plugin policy is ${quote(type)} but allowlist is non-nil`
    throw new Error(`misconfigured credential plugin allowlist: ${problem}`)
  }
}

function validateAllowlist(allowlist: PluginPolicy['credentialPluginAllowlist']): void {
  const set = 'credential plugin policy set to "Allowlist", but allowlist is'
  if (allowlist === undefined) throw new Error(`${set} unspecified`)
  if (allowlist.length === 0) throw new Error(`${set} empty; use "DenyAll" policy instead`)
  for (const [index, { name = '', command = name }] of allowlist.entries()) {
    if (command === '') {
      throw new Error(`misconfigured credential plugin allowlist: empty allowlist entry #${index + 1}`)
    }
    const clean = cleanPath(command)
    if (clean !== command) throw new Error(`non-normalized file path: ${quote(command)} vs ${quote(clean)}`)
  }
}

/** The program to run for a plugin. Throws Error if the policy does not allow it. */
export async function allowedPlugin(
  policy: PluginPolicy,
  program: string,
  machine: Machine,
): Promise<string> {
  const { credentialPluginPolicy: type = '', credentialPluginAllowlist: allowlist = [] } = policy
  if (type === '' || type === 'AllowAll') return program
  const clean = cleanPath(program)
  if (type === 'DenyAll') throw new Error(`plugin ${quote(clean)} not allowed: policy set to "DenyAll"`)
  const allowed = allowlist.map(({ name = '', command = name }) => command)
  const path = await lookPath(clean, machine)
  if (path === undefined) {
    if (allowed.includes(clean)) return program
    const reason = clean.includes('/')
      ? `exec: ${quote(clean)}: no such executable file`
      : `exec: ${quote(clean)}: executable file not found in $PATH`
    throw new Error(
      `plugin path ${quote(clean)} cannot be resolved for credential plugin allowlist check: ${reason}`,
    )
  }
  if (allowed.includes(clean) || allowed.includes(path)) return path
  for (const each of allowed) if ((await lookPath(each, machine)) === path) return path
  throw new Error(`plugin path ${quote(path)} is not permitted by the credential plugin allowlist`)
}

async function lookPath(program: string, machine: Machine): Promise<string | undefined> {
  if (!program.includes('/')) return findExecutable(program, machine)
  const path = resolve(machine.workingFolder, program)
  const status = await machine.platform.files.stat(path)
  return status?.isFile && (status.mode & 0o111) !== 0 ? path : undefined
}

function cleanPath(path: string): string {
  const normal = normalize(path)
  return normal.length > 1 ? normal.replace(/\/$/, '') : normal
}
