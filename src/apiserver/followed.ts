/**
 * Stages that follow a request to its end need to know the end of a connection that was taken over: nobody answers
 * there any more.
 */
import type { UpgradeBody } from '#/api/transport.ts'

/** The same, with a call once it is over or was given up. */
export function followed(body: UpgradeBody, onEnd: () => void): UpgradeBody {
  return {
    ...body,
    serve: async client => {
      try {
        await body.serve(client)
      } finally {
        onEnd()
      }
    },
    discard: () => {
      body.discard()
      onEnd()
    },
  }
}
