import type { GroupRules } from '../../kind-rules.ts'
import { certificateSigningRequestRules } from './certificate-signing-request.ts'

export const certificates: GroupRules = { CertificateSigningRequest: certificateSigningRequestRules }
