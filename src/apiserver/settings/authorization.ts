/** Authorization settings from flags or from --authorization-config. */
import { messageOf } from '#/base/message-of.ts'
import { UsageError } from '#/base/flags.ts'
import type { Platform } from '#/platform/platform.ts'
import { defaultAuthorizers, type AuthorizerSettings } from '../authz.ts'
import { parseAbacPolicies, type AbacPolicy } from '../authz/abac-authorizer.ts'
import {
  parseAuthorizationConfiguration,
  type ConfiguredAuthorizer,
} from '../authz/authorization-configuration.ts'
import { parseModes, type AuthorizationMode } from '../authz/modes.ts'
import type { ApiServerFlags } from '../flags.ts'
import type { ReloadedFile } from '../reloaded-file.ts'
import { readFlagKubeconfig, readFlagFile } from './flag-files.ts'

/** Throws UsageError. */
export async function readAuthorization(
  flags: ApiServerFlags,
  platform: Platform,
): Promise<readonly AuthorizerSettings[]> {
  const configured = await readConfigured(flags, platform)
  return configured === undefined ? defaultAuthorizers : authorizersOf(configured, flags, platform)
}

/** Undefined without --authorization-config. */
export async function readAuthorizationReload(
  flags: ApiServerFlags,
  platform: Platform,
  initial: readonly AuthorizerSettings[],
): Promise<ReloadedFile<readonly AuthorizerSettings[]> | undefined> {
  const path = flags['authorization-config']
  const content = await readFlagFile(platform, { flag: 'authorization-config', path }, text => text)
  if (!path || content === undefined) return undefined
  const read = async (text: string): Promise<readonly AuthorizerSettings[]> => {
    const configured = parseAuthorizationConfiguration(text)
    requireSameModes(configured, initial)
    return authorizersOf(configured, flags, platform)
  }
  return { path, content, read }
}

/** Only webhooks may come and go while the server runs. */
function requireSameModes(
  configured: readonly ConfiguredAuthorizer[],
  initial: readonly AuthorizerSettings[],
): void {
  const modesOf = (authorizers: readonly { readonly mode: AuthorizationMode }[]): Set<AuthorizationMode> =>
    new Set(authorizers.map(({ mode }) => mode).filter(mode => mode !== 'Webhook'))
  const [before, after] = [modesOf(initial), modesOf(configured)]
  const changed = [...before.symmetricDifference(after)]
  if (changed.length > 0)
    throw new Error(`authorizer types other than Webhook cannot change: ${changed.join(', ')}`)
}

async function authorizersOf(
  configured: readonly ConfiguredAuthorizer[],
  flags: ApiServerFlags,
  platform: Platform,
): Promise<readonly AuthorizerSettings[]> {
  const policies = await readPolicies(flags, platform, configured)
  const authorizers: AuthorizerSettings[] = []
  for (const { mode, webhook } of configured) {
    if (mode === 'Webhook') {
      const flag = flags['authorization-config']
        ? 'authorization-config'
        : 'authorization-webhook-config-file'
      const remote = await readFlagKubeconfig(platform, flag, webhook?.kubeConfigFile)
      if (remote) authorizers.push({ mode, webhook: { ...webhook?.settings, ...remote } })
    } else {
      authorizers.push(mode === 'ABAC' ? { mode, policies } : { mode })
    }
  }
  return authorizers
}

/** Undefined if nothing is configured. */
async function readConfigured(
  flags: ApiServerFlags,
  platform: Platform,
): Promise<readonly ConfiguredAuthorizer[] | undefined> {
  const file = { flag: 'authorization-config', path: flags['authorization-config'] } as const
  const configured = await readFlagFile(platform, file, parseAuthorizationConfiguration)
  const other = Object.keys(flags).find(name => /^authorization-(?:mode|webhook-)/.test(name))
  if (configured) {
    if (other) throw new UsageError(`--${other} cannot be used together with --authorization-config`)
    return configured
  }
  const modes = modesOf(flags)
  const kubeConfigFile = flags['authorization-webhook-config-file']
  if (kubeConfigFile && !modes.includes('Webhook')) {
    throw new UsageError('cannot specify --authorization-webhook-config-file without mode Webhook')
  }
  if (!kubeConfigFile && modes.includes('Webhook')) {
    throw new UsageError('--authorization-mode Webhook requires --authorization-webhook-config-file')
  }
  const authorizedTtlMs = flags['authorization-webhook-cache-authorized-ttl']
  const unauthorizedTtlMs = flags['authorization-webhook-cache-unauthorized-ttl']
  const settings = {
    version: flags['authorization-webhook-version'] ?? 'v1beta1',
    ...(authorizedTtlMs !== undefined && { authorizedTtlMs }),
    ...(unauthorizedTtlMs !== undefined && { unauthorizedTtlMs }),
  }
  return modes.map(mode => ({
    mode,
    ...(mode === 'Webhook' && kubeConfigFile && { webhook: { kubeConfigFile, settings } }),
  }))
}

function modesOf(flags: ApiServerFlags): readonly AuthorizationMode[] {
  const given = flags['authorization-mode']
  if (given === undefined) return defaultAuthorizers.map(({ mode }) => mode)
  try {
    return parseModes(given)
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error })
  }
}

async function readPolicies(
  flags: ApiServerFlags,
  platform: Platform,
  configured: readonly ConfiguredAuthorizer[],
): Promise<readonly AbacPolicy[]> {
  const path = flags['authorization-policy-file']
  const isAsked = configured.some(({ mode }) => mode === 'ABAC')
  if (path && !isAsked) throw new UsageError('cannot specify --authorization-policy-file without mode ABAC')
  if (!path && isAsked) throw new UsageError('--authorization-mode ABAC requires --authorization-policy-file')
  const file = { flag: 'authorization-policy-file', path } as const
  return (await readFlagFile(platform, file, text => parseAbacPolicies(text, path ?? ''))) ?? []
}
