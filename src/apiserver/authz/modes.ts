/** What `--authorization-mode` says: which authorizers are asked, in this order. */
import { quote } from '#/api/quote.ts'

const modes = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'RBAC', 'Node'] as const

export type AuthorizationMode = (typeof modes)[number]

/** What a cluster has unless it says otherwise: nodes by what runs on them, everybody else by roles. */
export const defaultModes: readonly AuthorizationMode[] = ['Node', 'RBAC']

/** Throws Error that says what is wrong. */
export function parseModes(text: string): readonly AuthorizationMode[] {
  const names = text.split(',').map(name => name.trim())
  const unknown = names.find(name => !isMode(name))
  if (unknown !== undefined) {
    throw new Error(`authorization-mode ${quote(unknown)} is not a valid mode: use ${modes.join(', ')}`)
  }
  if (new Set(names).size < names.length) {
    throw new Error(`authorization-mode ${quote(text)} has mode specified more than once`)
  }
  return names.filter(isMode)
}

function isMode(name: string): name is AuthorizationMode {
  return (modes as readonly string[]).includes(name)
}
