/**
 * Rejects writes that need memory while the process has little left. Deletions, small updates and leases still work, so
 * that the cluster goes on and can be cleaned up.
 */
import { tooManyRequests } from '#/api/errors.ts'
import type { ProcessMemory } from '#/platform/process-usage.ts'
import type { Stage } from './pipeline.ts'
import type { ApiRequest, RequestContext } from './request.ts'

export interface MemoryGuardOptions {
  readonly memory: ProcessMemory
  /** Called while memory is short. */
  readonly release: () => void
}

/** Updates by the components of the cluster are smaller. */
const smallBytesMax = 16 * 1024

const retryAfterSeconds = 5

export function guardMemory({ memory, release }: MemoryGuardOptions): Stage {
  return (context, next) => {
    if (needsMemory(context) && memory.isNearlyExhausted()) {
      release()
      throw tooManyRequests(
        'the API server is short of memory: delete objects or try again later',
        retryAfterSeconds,
      )
    }
    return next(context)
  }
}

function needsMemory({ info, request }: RequestContext): boolean {
  if (info.verb === 'create') return info.isResource && info.resource !== 'leases'
  return (info.verb === 'update' || info.verb === 'patch') && !isSmall(request)
}

/** Requests within the process are those of controllers, the scheduler and the kubelet. */
function isSmall({ headers, body }: ApiRequest): boolean {
  if (body.value !== undefined) return true
  const length = headers['content-length']
  return length !== undefined && Number(length) <= smallBytesMax
}
