import { isApiError } from '#/api/errors.ts'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { formatTime } from '#/api/text/time.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Invocation } from '../command.ts'
import { boolFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'
import { resultPrinterOf } from '../printers/result-printer.ts'
import { builtInResources } from '../resource/built-in-resources.ts'
import { visitResources } from '../resource/find-resources.ts'
import type { ResourceClient } from '../resource/resource-client.ts'
import { filenameFlags, filesOf, hasFiles } from '../write-flags.ts'

export const certificateFlags = {
  ...printFlags,
  ...filenameFlags('Files, folders or URLs with the requests.'),
  force: boolFlag('Update the request even if it has been decided in the same way already.'),
}

export interface Decision {
  readonly type: 'Approved' | 'Denied'
  /** The decision that contradicts this one. */
  readonly opposite: 'Approved' | 'Denied'
  readonly reason: string
  readonly message: string
}

/** Attempts after the request was changed concurrently. */
const attemptsMax = 10

/** Adds the decision to the conditions of all certificate signing requests that the command line names. */
export async function decideRequests(
  invocation: Invocation<typeof certificateFlags>,
  decision: Decision,
): Promise<void> {
  const { args, flags, factory, streams } = invocation
  const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun: 'none' })
  if (args.length === 0 && !hasFiles(flags)) {
    throw new Error('one or more CSRs must be specified as <name> or -f <filename>')
  }
  const query = { ...filesOf(flags), args, defaultType: 'certificatesigningrequests', latest: true }
  const resources = await factory.resources()
  const time = formatTime(factory.machine.platform.clock.now())
  const count = await visitResources(factory, query, async ({ mapping, name, object = {} }) => {
    const kind = mapping.group === '' ? mapping.kind : `${mapping.kind}.${mapping.group}`
    const wanted = 'CertificateSigningRequest.certificates.k8s.io'
    if (kind !== wanted) throw new Error(`can only handle ${wanted} objects, got ${kind}`)
    await decide(resources, { name, decision, time, force: flags.force ?? false })
    print(object, decision.type.toLowerCase())
  })
  if (count === 0) streams.write('No resources found\n')
}

interface DecideOptions {
  readonly name: string
  readonly decision: Decision
  readonly time: string
  readonly force: boolean
}

async function decide(
  resources: ResourceClient,
  { name, decision, time, force }: DecideOptions,
): Promise<void> {
  const location = { mapping: builtInResources.certificateSigningRequests, name }
  for (let attempt = 1; ; attempt++) {
    const current = (await resources.get(location).catch((error: unknown) => {
      if (!isApiError(error, 'NotFound')) throw error
      throw new Error(`could not find v1 version of ${name}: ${messageOf(error)}`, { cause: error })
    })) as unknown as CertificateSigningRequest
    const decided = withDecision(current, { decision, time })
    if (decided === current && !force) return
    try {
      await resources.replace({ ...location, subresource: 'approval' }, decided as unknown as JsonObject)
      return
    } catch (error) {
      if (!isApiError(error, 'Conflict') || attempt === attemptsMax) throw error
    }
  }
}

/** The request itself if it has been decided so already. Throws Error if it has been decided otherwise. */
export function withDecision(
  request: CertificateSigningRequest,
  { decision, time }: { readonly decision: Decision; readonly time: string },
): CertificateSigningRequest {
  const { conditions = [] } = request.status ?? {}
  const { type, opposite, reason, message } = decision
  if (conditions.some(each => each.type === opposite)) {
    throw new Error(`certificate signing request "${request.metadata.name}" is already ${opposite}`)
  }
  if (conditions.some(each => each.type === type)) return request
  const condition = { type, status: 'True' as const, reason, message, lastUpdateTime: time }
  return { ...request, status: { ...request.status, conditions: [...conditions, condition] } }
}
