/** Parses `--authorization-mode`: the authorizers, in order. */
import { quote } from '#/api/text/quote.ts'

export const authorizationModes = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'RBAC', 'Node'] as const

export type AuthorizationMode = (typeof authorizationModes)[number]

/** Throws an Error that describes what is invalid. */
export function parseModes(names: readonly string[]): readonly AuthorizationMode[] {
  if (names.length === 0) throw new Error('at least one authorization-mode must be passed')
  const unknown = names.find(name => !isMode(name))
  if (unknown !== undefined) {
    throw new Error(
      `authorization-mode ${quote(unknown)} is not a valid mode: use ${authorizationModes.join(', ')}`,
    )
  }
  if (new Set(names).size < names.length) {
    throw new Error(`authorization-mode ${quote(names.join(','))} has mode specified more than once`)
  }
  return names.filter(isMode)
}

export function isMode(name: string): name is AuthorizationMode {
  return (authorizationModes as readonly string[]).includes(name)
}
