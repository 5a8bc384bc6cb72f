import { isApiError } from '#/api/errors.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { defineCommand } from '../../command.ts'
import { nameIn } from '../../create/object-creator.ts'
import { durationFlag, stringArrayFlag, stringFlag } from '../../flag-types.ts'
import { objectPrinterOf, printFlags } from '../../printers/object-printer.ts'
import type { Factory } from '../../factory.ts'

const boundObjectKinds: readonly string[] = ['Node', 'Pod', 'Secret']

const tokenFlags = {
  ...printFlags,
  'audience': stringArrayFlag('Audience of the token; may be repeated. The default is the Kubernetes API.'),
  'bound-object-kind': stringFlag(
    `Kind of the object that the token is bound to: ${boundObjectKinds.join(', ')}. Requires --bound-object-name.`,
  ),
  'bound-object-name': stringFlag('Name of the object. The token expires when the object is deleted.'),
  'bound-object-uid': stringFlag('UID of the object. The default is that of the existing object.'),
  'duration': durationFlag(
    'Requested lifetime. The server may choose another one. With 0 the server determines it.',
  ),
}

export const command = defineCommand({
  usage: 'token SERVICE_ACCOUNT_NAME',
  description: 'Requests a token of a service account and prints it.',
  examples: `  # A token for the Kubernetes API
  kubectl create token robot

  # A token of a service account in another namespace
  kubectl create token robot --namespace shop

  # A lifetime
  kubectl create token robot --duration 10m

  # An audience
  kubectl create token robot --audience https://example.com

  # A token that expires when a secret is deleted
  kubectl create token robot --bound-object-kind Secret --bound-object-name anchor`,
  flags: tokenFlags,
  async run(invocation) {
    const { factory, flags, streams } = invocation
    const name = nameIn(invocation)
    const print = await objectPrinterOf({ flags, machine: factory.machine, keepsFieldOrder: true })
    if (name === '') throw new Error('service account name is required')
    const response = await requestToken(factory, { name, spec: planTokenRequest(flags) })
    const status = isObject(response['status']) ? response['status'] : {}
    const { token } = status
    if (typeof token !== 'string' || token === '') {
      throw new Error('failed to create token: no token in server response')
    }
    if (print !== undefined) streams.write(print(response))
    else streams.write(streams.stdout.isTerminal ? `${token}\n` : token)
  },
})

interface TokenFlagValues {
  readonly 'audience'?: readonly string[]
  readonly 'bound-object-kind'?: string
  readonly 'bound-object-name'?: string
  readonly 'bound-object-uid'?: string
  /** In milliseconds. */
  readonly 'duration'?: number
}

/** The spec of a TokenRequest. Throws Error for flags that contradict each other. */
export function planTokenRequest(flags: TokenFlagValues): JsonObject {
  const { audience: audiences = [], duration = 0 } = flags
  if (duration < 0) throw new Error('--duration must be greater than or equal to 0')
  if (duration % 1000 !== 0) {
    throw new Error('--duration cannot be expressed in units less than seconds')
  }
  if (audiences.includes('')) throw new Error('--audience must not be an empty string')
  const boundObjectRef = boundObjectOf(flags)
  return {
    audiences: audiences.length > 0 ? [...audiences] : null,
    expirationSeconds: duration > 0 ? duration / 1000 : null,
    boundObjectRef: boundObjectRef ?? null,
  }
}

function boundObjectOf(flags: TokenFlagValues): JsonObject | undefined {
  const { 'bound-object-kind': kind = '', 'bound-object-name': name = '' } = flags
  const { 'bound-object-uid': uid = '' } = flags
  if (kind === '') {
    const stray = ['bound-object-name', 'bound-object-uid'].find((_, index) => [name, uid][index] !== '')
    if (stray === undefined) return undefined
    throw new Error(`--${stray} can only be set if --bound-object-kind is provided`)
  }
  if (!boundObjectKinds.includes(kind)) {
    throw new Error(`supported --bound-object-kind values are ${boundObjectKinds.join(', ')}`)
  }
  if (name === '') throw new Error('--bound-object-name is required if --bound-object-kind is provided')
  return { kind, apiVersion: 'v1', name, ...(uid && { uid }) }
}

const serviceAccounts = { group: '', version: 'v1', plural: 'serviceaccounts', scope: 'Namespaced' } as const

async function requestToken(
  factory: Factory,
  { name, spec }: { readonly name: string; readonly spec: JsonObject },
): Promise<JsonObject> {
  const { namespace } = await factory.namespace()
  const request = { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', metadata: {}, spec }
  const location = { mapping: serviceAccounts, namespace, name, subresource: 'token' }
  try {
    const resources = await factory.resources()
    return await resources.create(location, request)
  } catch (error) {
    if (!isApiError(error)) throw error
    throw new Error(`failed to create token: ${error.message}`, { cause: error })
  }
}
