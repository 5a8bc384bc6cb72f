/** Keys of UserInfo.extra that authenticators set. */
export const credentialId = 'authentication.kubernetes.io/credential-id'
export const podName = 'authentication.kubernetes.io/pod-name'
export const podUid = 'authentication.kubernetes.io/pod-uid'
export const nodeName = 'authentication.kubernetes.io/node-name'
export const nodeUid = 'authentication.kubernetes.io/node-uid'
