import { certificateFlags, decideRequests } from '../../certificate/decide-request.ts'
import { defineCommand } from '../../command.ts'

export const command = defineCommand({
  usage: 'deny (-f FILENAME | NAME)',
  description: 'Denies certificate signing requests: no certificates are issued.',
  examples: `  # Deny a request
  kubectl certificate deny csr-sqgzp`,
  flags: certificateFlags,
  run: invocation =>
    decideRequests(invocation, {
      type: 'Denied',
      opposite: 'Approved',
      reason: 'KubectlDeny',
      message: 'This CSR was denied by kubectl certificate deny.',
    }),
})
