/** Reports the end of an upgraded connection to stages that track a request until its end. */
import type { UpgradeBody } from '#/api/transport.ts'

/** Wraps `body` so that `onEnd` is called when the connection ends or is discarded. */
export function onUpgradeEnd(body: UpgradeBody, onEnd: () => void): UpgradeBody {
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
