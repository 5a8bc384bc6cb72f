import { certificateFlags, decideRequests } from '../../certificate/decide-request.ts'
import { defineCommand } from '../../command.ts'

export const command = defineCommand({
  usage: 'approve (-f FILENAME | NAME)',
  description: `Approves certificate signing requests, so that a signer issues the certificates.

A certificate can let its holder act as another user or component. Check what a request asks for before you
approve it.`,
  examples: `  # Approve a request
  kubectl certificate approve csr-sqgzp`,
  flags: certificateFlags,
  run: invocation =>
    decideRequests(invocation, {
      type: 'Approved',
      opposite: 'Denied',
      reason: 'KubectlApprove',
      message: 'This CSR was approved by kubectl certificate approve.',
    }),
})
