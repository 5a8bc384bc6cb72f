/** Facts of the group that the generated definitions lack; only the generator reads them. */
import type { Overlay } from '../overlay.ts'

export const authenticationOverlay: Overlay = {
  spacedSentences: ['SelfSubjectReview'],
  fieldNumbers: `
BoundObjectReference: kind apiVersion name uid
SelfSubjectReview: metadata status
SelfSubjectReviewStatus: userInfo
TokenRequest: metadata spec! status
TokenRequestSpec: audiences! 3:boundObjectRef?! expirationSeconds?!
TokenRequestStatus: token! expirationTimestamp
TokenReview: metadata spec status
TokenReviewSpec: token- audiences
TokenReviewStatus: authenticated user error audiences
UserInfo: username uid groups extra
`,
}
